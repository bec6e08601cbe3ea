"""`wirelens bulk`: folders of captures to tables, with Spark."""
