"""SSH through asyncssh, as the user's ssh_config says. Imported late: asyncssh takes a tenth of a second.

dial.py connects (jump hosts, host keys, logins), transport.py runs commands over the connection.
"""

from netbench_tui.hosts.ssh.dial import SshAccess, SshSettings, dial
from netbench_tui.hosts.ssh.names import split_name
from netbench_tui.hosts.ssh.transport import SshTransport

__all__ = ["SshAccess", "SshSettings", "SshTransport", "dial", "split_name"]
