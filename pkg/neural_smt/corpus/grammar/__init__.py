"""A synchronous grammar of English and French: one derivation, two sentences and the links between their words.

``words/`` holds all words, as tables that ``fragments`` and ``lexicon`` read, and what distinguishes the domains;
``english`` and ``french`` inflect; ``derivation`` carries the state of one sentence. The rules are in ``noun_phrases``
(with pronouns and names), ``phrases`` (common nouns and adjuncts), ``verb_groups``, ``clauses`` and ``sentences``.
"""
