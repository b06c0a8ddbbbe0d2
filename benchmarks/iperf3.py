"""iperf3 between the lab's two hosts, started by the benchmark itself and by no agent. Used by watching, agent_cost."""

import asyncio
import json
import shutil

from benchmarks.plan import BenchmarkFailed
from netbench_tui.hosts.lab.lab import Lab
from netbench_tui.model.host import Role

# The namespaces are ours alone: any port is free.
PORT = 5201
PATIENCE_SECONDS = 15.0


async def throughput(lab: Lab, seconds: int) -> float:
    """Goodput in bit/s of one TCP stream, as the receiver of iperf3 counted it. BenchmarkFailed if it fails."""
    if not shutil.which("iperf3"):
        raise BenchmarkFailed("iperf3 is not installed (the Debian package is called iperf3)")
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    receiver, sender = lab.hosts[Role.RECEIVER], lab.hosts[Role.SENDER]
    address = receiver.addresses[4]
    server = await asyncio.create_subprocess_exec(
        *receiver.enter,
        "iperf3",
        "-s",
        "-1",
        "-p",
        str(PORT),
        "-B",
        address,
        "--forceflush",
        stdin=nothing,
        stdout=pipe,
    )
    try:
        async with asyncio.timeout(seconds + PATIENCE_SECONDS):
            await _until_listening(server)
            client = await asyncio.create_subprocess_exec(
                *sender.enter,
                "iperf3",
                "-c",
                address,
                "-p",
                str(PORT),
                "-t",
                str(seconds),
                "-J",
                stdin=nothing,
                stdout=pipe,
            )
            text, _ = await client.communicate()
            await server.communicate()
    except TimeoutError:
        raise BenchmarkFailed("iperf3 did not end") from None
    finally:
        if server.returncode is None:
            server.kill()
            await server.communicate()
    return _received(text)


async def _until_listening(server: asyncio.subprocess.Process) -> None:
    assert server.stdout
    while line := await server.stdout.readline():
        if b"listening" in line:
            return
    raise BenchmarkFailed("iperf3's server ended before it listened")


def _received(text: bytes) -> float:
    try:
        report = json.loads(text)
        return float(report["end"]["sum_received"]["bits_per_second"])
    except (ValueError, KeyError):
        raise BenchmarkFailed(f"iperf3 failed: {text[-200:].decode(errors='replace')}") from None
