"""The program that runs on a host: standard library only, Python 3.6 syntax and calls, imports nothing else of ours.

hosts/payload.py sends these modules as text; on the host they form the package `netbench_agent`, held in memory.
Nothing is installed and nothing stays. The protocol is described in main.py.
"""
