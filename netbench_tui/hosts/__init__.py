"""Reaching a host: transports (ssh, local, the lab's namespaces), the agent's client, the built-in lab."""
