"""Kernel interfaces of the agent: netlink families and ioctls, each a thin call that raises OSError. No policy here."""
