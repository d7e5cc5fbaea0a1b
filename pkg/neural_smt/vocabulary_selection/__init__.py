"""Small target vocabularies for sentences, batches and parts of the text (Mi et al. 2016; Jean et al. 2015)."""
