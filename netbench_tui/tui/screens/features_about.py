"""What the settings beside the features do, in a sentence or two each. Used by the help of the Features screen."""

from collections.abc import Mapping

from netbench_tui.model.features import about
from netbench_tui.tui.screens.features_rows import FEATURE, TITLES, Row

_FRAMES = "Frames that are gathered before an interrupt; 0 leaves it to the time."
_ABOUT: Mapping[str, str] = {
    "ring.rx": "Descriptors of each receive ring. More ride out longer pauses of the CPU; more also push packets out "
    "of the caches. Writing it restarts the NIC.",
    "ring.tx": "Descriptors of each transmit ring. Writing it restarts the NIC.",
    "ring.rx-mini": "Descriptors of the ring for small frames.",
    "ring.rx-jumbo": "Descriptors of the ring for large frames.",
    "channels.combined": "Queue pairs that receive and send. The indirection table and affinities begin anew with "
    "another number.",
    "channels.rx": "Queues that only receive.",
    "channels.tx": "Queues that only send.",
    "channels.other": "Interrupts for anything but packets: link changes, errors.",
    "coalesce.adaptive-rx": "The driver chooses the receive delay by the load. While it is on, rx-usecs is its and a "
    "figure of yours does not last.",
    "coalesce.adaptive-tx": "The driver chooses the transmit delay by the load.",
    "coalesce.rx-usecs": "Microseconds that a received packet may wait for others before the NIC interrupts. Less is "
    "less latency and more interrupts.",
    "coalesce.tx-usecs": "Microseconds that a sent packet's completion may wait.",
    "coalesce.rx-frames": _FRAMES,
    "coalesce.tx-frames": _FRAMES,
    "pause.autoneg": "Pause frames are agreed upon with the other end of the cable.",
    "pause.rx": "The NIC stops sending when the other end asks for a pause.",
    "pause.tx": "The NIC asks the other end for a pause instead of dropping. One slow queue then stops all of them.",
    "mtu": "Bytes of the largest packet. Both ends and all between them need it.",
    "txqueuelen": "Packets that a queue discipline without a limit of its own may hold.",
    "qdisc.root": "The queue discipline in front of the NIC. mq gives each queue one of net.core.default_qdisc; fq "
    "paces flows.",
    "napi.threaded": "NAPI polls in kernel threads that the scheduler may move, not in softirqs.",
    "napi.defer_hard_irqs": "Empty polls before interrupts are switched on again, with gro_flush_timeout between them.",
    "napi.gro_flush_timeout": "Nanoseconds that GRO may hold packets, and between two polls while interrupts wait.",
    "irqbalance.ban": "irqbalance leaves this NIC's IRQs where they are.",
    "service.irqbalance": "Moves IRQs between CPUs by itself, every ten seconds. IRQs that were pinned by hand are "
    "moved too.",
    "cpu.governor": "How the CPUs choose their frequency. performance holds it high.",
    "sysctl.net.core.rmem_max": "Bytes that a program may ask for with SO_RCVBUF. TCP's own tuning has tcp_rmem.",
    "sysctl.net.core.wmem_max": "Bytes that a program may ask for with SO_SNDBUF.",
    "sysctl.net.core.rmem_default": "Bytes of a receive buffer that no program asked for; TCP has tcp_rmem.",
    "sysctl.net.core.wmem_default": "Bytes of a send buffer that no program asked for; TCP has tcp_wmem.",
    "sysctl.net.core.netdev_max_backlog": "Packets that a CPU's backlog may hold: of RPS and of drivers without NAPI.",
    "sysctl.net.core.netdev_budget": "Packets that one softirq may take before it yields.",
    "sysctl.net.core.netdev_budget_usecs": "Microseconds that one softirq may take before it yields.",
    "sysctl.net.core.dev_weight": "Packets that the backlog hands on in one poll.",
    "sysctl.net.core.busy_poll": "Microseconds that poll and select spin for packets. 0 never spins.",
    "sysctl.net.core.busy_read": "Microseconds that a read spins for packets. 0 never spins.",
    "sysctl.net.core.default_qdisc": "The queue discipline that new devices and mq get.",
    "sysctl.net.core.rps_sock_flow_entries": "Flows whose reader RFS remembers, for all NICs. Each queue has its "
    "share in rps_flow_cnt. 0 switches RFS off.",
    "sysctl.net.core.flow_limit_cpu_bitmap": "CPUs whose backlog drops large flows first when it fills.",
    "sysctl.net.core.somaxconn": "Connections that may wait for accept.",
    "sysctl.net.ipv4.tcp_rmem": "Bytes of a TCP receive buffer: least, first, most. The most limits throughput on long "
    "paths.",
    "sysctl.net.ipv4.tcp_wmem": "Bytes of a TCP send buffer: least, first, most.",
    "sysctl.net.ipv4.tcp_congestion_control": "How TCP finds its rate. The sender's decides.",
    "sysctl.net.ipv4.tcp_timestamps": "Each segment carries a time, in 12 bytes: round trips are measured better.",
    "sysctl.net.ipv4.tcp_sack": "The receiver names what it has, so that only what was lost is sent again.",
    "sysctl.net.ipv4.tcp_window_scaling": "Receive windows of more than 64 KiB.",
    "sysctl.net.ipv4.tcp_slow_start_after_idle": "A connection that paused begins slowly again.",
    "sysctl.net.ipv4.tcp_no_metrics_save": "1 forgets what a destination's last connection learnt: runs begin alike.",
    "sysctl.net.ipv4.tcp_notsent_lowat": "Bytes not yet sent from which on a socket is not writable.",
    "sysctl.net.ipv4.tcp_autocorking": "Small writes wait for others while packets of the flow are queued.",
    "sysctl.net.ipv4.udp_rmem_min": "Bytes that a UDP receive buffer keeps also when memory is short.",
    "sysctl.net.ipv4.udp_wmem_min": "Bytes that a UDP send buffer keeps also when memory is short.",
    "sysctl.net.core.flow_limit_table_len": "Buckets in which the flow limit counts flows.",
    "sysctl.net.ipv4.tcp_mtu_probing": "TCP finds the largest packet by trying: 1 after losses, 2 always.",
    "sysctl.net.ipv4.tcp_limit_output_bytes": "Bytes of one flow that may wait below TCP.",
    "sysctl.kernel.numa_balancing": "The kernel moves memory to the node that uses it, by taking pages away now and "
    "then.",
}


def sentence(row: Row) -> str:
    """What a row's setting does; of a head what is in it."""
    if not row.key:
        shorts = (
            "space on it chooses one of ethtool's short names and stages each feature that it stands for."
            if any(member.key.startswith(FEATURE) for member in row.members)
            else ""
        )
        number = len(row.members)
        return f"{TITLES.get(row.group, '')}: {number} setting{'s' if number != 1 else ''}. {shorts}".rstrip()
    if row.key.startswith(FEATURE):
        return about(row.name).text
    return _ABOUT.get(row.key, "")
