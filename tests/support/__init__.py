"""What several test modules share: generated documents, the laws as checks, the corpus format."""
