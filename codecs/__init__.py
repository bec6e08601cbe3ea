"""Pure codecs: bytes to messages and back, without files, terminals or Spark."""
