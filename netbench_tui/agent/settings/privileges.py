"""What root of a user namespace is refused although it may open the file. Used by steering.py and napi.py."""

WHOLE_USER_NAMESPACE = ["0", "0", "4294967295"]


def only_on_the_host(context):
    """Why a file cannot be written for which the kernel wants CAP_NET_ADMIN on the host itself; None if it can."""
    if not context.live:
        return None
    mapped = (context.once("uid_map", lambda: context.root.text("proc/self/uid_map")) or "").split()
    return None if mapped in ([], WHOLE_USER_NAMESPACE) else "needs root of the host itself"
