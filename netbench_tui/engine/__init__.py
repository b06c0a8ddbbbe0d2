"""What happens over time: connecting, sampling, running. Own thread, own event loop; speaks typed events."""
