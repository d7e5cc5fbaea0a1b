"""Units of work of jobs: how many words, phrase pairs, hypotheses or multiply-adds each rule goes through."""
