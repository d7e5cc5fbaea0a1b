"""A synchronous grammar of English and French: one derivation, two sentences and the links between their words.

``words/`` holds all words, as tables that ``fragments`` and ``lexicon`` read, and what distinguishes the domains;
``inflection`` has the forms of both languages; ``lexicon`` also carries the state of one sentence. The rules are in
``noun_phrases`` (with pronouns, names and adjuncts), ``clauses`` (with verb groups) and ``sentences``.
"""
