# ruff: noqa: E501 (sentences stay on one line, as they are told)
"""Mistakes in configurations, on command lines, and in what is asked of an experiment."""

from bad_inputs import Row, configured

VERB = "check --configfile {} --snakefile {{repository}}/Snakefile"

PLAN = "plan --configfile {repository}/experiments/tiny.yaml"

ROWS = [
    # files of settings
    Row("no file of settings", VERB.format(""), "--configfile: none given; name the experiment's configuration"),
    Row(
        "a file of settings that is not there",
        VERB.format("mine.yaml"),
        "mine.yaml: no such file; name a configuration file of Snakemake",
    ),
    Row(
        "settings that are no YAML",
        VERB.format("mine.yaml"),
        "mine.yaml, line 2: not valid YAML (expected ',' or ']', but got ':'); correct it",
        {"mine.yaml": "corpus: [a\nseed: 1\n"},
    ),
    Row(
        "settings that are a list",
        VERB.format("mine.yaml"),
        "mine.yaml: not a configuration file; it must hold keys and values",
        {"mine.yaml": "- a\n- b\n"},
    ),
    Row(
        "settings in another encoding",
        VERB.format("mine.yaml"),
        "mine.yaml, line 1: not valid UTF-8 (byte 0xe9); convert the file to UTF-8",
        {"mine.yaml": b"experiment: caf\xe9\n"},
    ),
    Row(
        "settings of nothing but a name",
        VERB.format("mine.yaml"),
        "configuration: has no 'languages'; give it",
        {"mine.yaml": "experiment: mine\n"},
    ),
    # keys and values
    configured(
        "a key with a slip", "phrases: {max_lenght: 7}", "phrases: unknown key 'max_lenght'; did you mean 'max_length'?"
    ),
    configured(
        "a section with a slip", "tunning: {runs: 3}", "configuration: unknown key 'tunning'; did you mean 'tuning'?"
    ),
    configured(
        "a key that is like none",
        "seed: 1\nzzz: 2",
        "configuration: unknown key 'zzz'; known here: experiment, seed, device, data_mirror, shards, languages, corpus, selection, alignment, phrases, language_model, shortlist, vocabulary_selection, training, networks, rescoring, decoding, systems, tuning, evaluation, proposals, analysis, plan, check, report",
    ),
    configured(
        "a name that YAML reads as a number",
        "networks: {1: {}}",
        "networks: the key 1 must be a string; put it in quotes",
    ),
    configured(
        "a word for a number",
        "phrases: {max_length: seven}",
        "phrases.max_length: expected integer, found 'seven'; correct it in the configuration",
    ),
    configured(
        "a list for a section", "tuning: [3]", "tuning: expected object, found [3]; correct it in the configuration"
    ),
    configured(
        "too few runs",
        "tuning: {runs: 0}",
        "tuning.runs: 0 is less than the minimum of 1; correct it in the configuration",
    ),
    configured(
        "an aligner that is not known",
        "alignment: {aligner: giza}",
        "alignment.aligner: 'giza' is not one of ['eflomal', 'fast_align']; correct it in the configuration",
    ),
    configured(
        "a name of an experiment that is no name of a folder",
        "experiment: ../elsewhere",
        "experiment: '../elsewhere' does not match '^[A-Za-z0-9_-]+$'; correct it in the configuration",
    ),
    configured(
        "a language twice", "languages: {target: en}", "languages: source and target are both 'en'; name two languages"
    ),
    configured(
        "a language that the generator does not write",
        "languages: {target: de}",
        "corpus.sources: the generator writes English-French; set languages: {source: en, target: fr}",
    ),
    # sources
    configured(
        "a source that is not defined",
        "corpus: {train: [pool, pol]}",
        "corpus.train.1: there is no source 'pol'; define it under corpus.sources",
    ),
    configured(
        "a part that is not generated",
        "corpus: {sources: {pool: {part: trian}}}",
        "corpus.sources.pool.part: 'trian' is not one of ['train', 'in_domain', 'dev', 'test', 'gold', 'monolingual']; correct it in the configuration",
    ),
    configured(
        "a source of one side",
        "corpus: {sources: {one: {en: {path: x}}}, test: [one]}",
        "corpus.sources.one: the side 'fr' is missing; give its url or path",
    ),
    configured(
        "a set of gold links without links",
        "corpus: {sources: {g: {en: {path: x}, fr: {path: y}}}, gold: [g]}",
        "corpus.sources.g: a gold set needs 'alignment'; give its url or path",
    ),
    configured(
        "a test set that nobody published",
        "corpus: {sources: {a: {test_set: wmt99}}}",
        "corpus.sources.a.test_set: sacreBLEU has no test set 'wmt99' for en-fr in one archive; it has wmt08, wmt08/europarl, wmt09, wmt10, wmt11, wmt12, wmt13, wmt14, wmt14/full, wmt15",
    ),
    configured(
        "a test set with a side besides",
        "corpus: {sources: {a: {test_set: wmt13, fr: {path: x}}}}",
        "corpus.sources.a: a test_set has both its sides already; leave out fr",
    ),
    configured(
        "a member above its archive",
        "corpus: {sources: {a: {fr: {path: x.tgz, member: ../x.fr}}}}",
        "corpus.sources.a.fr.member: '../x.fr' would leave the folder of its archive; name the file by its path inside the archive",
    ),
    configured(
        "a join of a join",
        "corpus: {sources: {a: {join: [b]}, b: {join: [news]}}, test: [a]}",
        "corpus.sources.a.join.0: 'b' is no source with en and fr of its own; define them",
    ),
    configured(
        "two checksums of an archive",
        f"corpus: {{sources: {{a: {{en: {{path: x, member: e, md5: {'0' * 32!r}}}, "
        f"fr: {{path: x, member: f, md5: {'1' * 32!r}}}}}}}}}",
        "corpus.sources.a.fr.md5: 11111111111111111111111111111111 here, but 00000000000000000000000000000000 at another side of the same archive; declare one of them",
    ),
    configured(
        "a text of one's own that is not there",
        "corpus: {sources: {a: {en: {path: a.en}, fr: {path: a.fr}}}, test: [a]}",
        "corpus.sources.a.en: a.en: no such file; correct its path, or set data_mirror",
    ),
    configured(
        "selection without text to resemble",
        "corpus: {in_domain: []}",
        "selection.method: selection needs in-domain text; name corpus.in_domain or set method: none",
    ),
    # systems
    configured(
        "a base that is not defined",
        "systems: {rnn: {base: basline}}",
        "systems.rnn.base: there is no system 'basline'; define it or name another",
    ),
    configured(
        "bases in a circle",
        "systems: {baseline: {base: rnn}}",
        "systems.baseline: its bases go in a circle (baseline -> rnn -> baseline); break it",
    ),
    configured(
        "features that are not known",
        "systems: {rnn: {features: [encoder]}}",
        "systems.rnn.features: there is no feature group 'encoder'; known are phrase, language_model, reordering, unknown_penalty, encoder_decoder, cslm, recurrent",
    ),
    configured(
        "a network with a name that is taken",
        "networks: {phrase: {kind: cslm}}",
        "networks.phrase: 'phrase' means something else already; choose another name",
    ),
    configured(
        "a network with a slip in a size",
        "networks: {tanh: {base: encoder_decoder, units: 1}}",
        "networks.tanh: unknown key 'units'; did you mean 'unit'?",
    ),
    configured(
        "a baseline that is not defined",
        "evaluation: {baseline: moses}",
        "evaluation.baseline: there is no system 'moses'; name one of systems",
    ),
    configured(
        "rescoring without a base",
        "systems: {alone: {features: [], rescore: [cslm]}}",
        "systems.alone.rescore: what a base found is rescored; name a base and leave features empty",
    ),
    configured(
        "rescoring with what is not there",
        "systems: {r: {base: rnn, features: [], rescore: [rnnlm]}}",
        "systems.r.rescore: there is no network 'rnnlm'; known are cslm, recurrent, attention",
    ),
    configured(
        "two networks in a search",
        "systems: {s: {base: rnn, features: [cslm, recurrent]}}",
        "systems.s.features: a search asks one network; take cslm or recurrent, rescore with the other",
    ),
    configured(
        "networks on other data",
        "systems: {w: {base: rnn, features: [], data: all}}",
        "systems.w.data: encoder_decoder is made from the selected data; use it without 'all'",
    ),
    configured(
        "a number of pairs of all data",
        "systems: {w: {base: baseline, features: [], data: all, pairs: 5}}",
        "systems.w.pairs: a number of pairs is drawn at random; add 'data: random' or leave it out",
    ),
    configured(
        "an attention network with a base",
        "systems: {a: {base: rnn, features: [], translate: {}}}",
        "systems.a.translate: an attention network translates by itself; leave out base",
    ),
    configured(
        "an attention network that is not defined",
        "systems: {a: {features: [], translate: {network: big}}}",
        "systems.a.translate.network: there is no attention network 'big'; known are attention",
    ),
    configured(
        "sentences' vocabularies that are not defined",
        "networks: {attention: {vocabulary: few}}",
        "networks.attention.vocabulary: there are no target vocabularies 'few'; known are all, default",
    ),
    configured(
        "a row of the paper for no system",
        "report: {paper_rows: {rnn: mine}}",
        "report.paper_rows.rnn: there is no system 'mine'; define it or name another",
    ),
    configured(
        "classes of a model that is none",
        "report: {word_classes: [mine]}",
        "report.word_classes: there is no recurrent model 'mine'; known are recurrent",
    ),
    # plans
    Row(
        "a machine without cores",
        PLAN + " --cores 0 --snakefile {repository}/Snakefile",
        "--nodes, --cores, --gpus: a plan needs at least one node and one core, and no negative number of GPUs; give others",
    ),
    Row(
        "a plan beside no Snakefile",
        PLAN + " --throughputs {repository}/benchmarks/throughputs.json",
        "Snakefile: no such file; run this where the Snakefile is, or name it with --snakefile",
    ),
    Row(
        "rates that are none",
        PLAN + " --snakefile {repository}/Snakefile --throughputs rates.json",
        "rates.json: not a file of throughputs; write one with `make bench`",
        {"rates.json": '{"rates": 1}'},
    ),
    Row(
        "rates of no run",
        "calibrate --results tiny --snakefile {repository}/Snakefile",
        "--results: no finished run among them; give folders such as results/multi30k",
    ),
    # options
    Row(
        "an option that is no JSON",
        "corpus generate --seed 1 --output out --settings '{pairs: 3}'",
        "--settings: not valid JSON (Expecting property name enclosed in double quotes): {pairs: 3}; give JSON or @file.yaml",
    ),
    Row(
        "an option with a list for settings",
        "corpus generate --seed 1 --output out --settings '[1]'",
        "--settings: expected keys and values, found '[1]'; give JSON or @file.yaml",
    ),
    Row(
        "an option of a file that is not there",
        "corpus generate --seed 1 --output out --settings @s.yaml",
        "s.yaml: no such file; check the path",
    ),
    Row(
        "an option of a file that is no YAML",
        "corpus generate --seed 1 --output out --settings @s.yaml",
        "s.yaml, line 1: not valid YAML (expected ',' or ']', but got '<stream end>'); correct it",
        {"s.yaml": "a: [b"},
    ),
    Row(
        "a setting of the generator that is not known",
        "corpus generate --seed 1 --output out --settings '{\"size\": 3}'",
        "generator: unknown setting 'size'; use kind, pairs, in_domain, dev, test, gold, monolingual, noise",
    ),
    # systems that translate
    Row(
        "an experiment that is not there",
        "translate embeded",
        "embeded: neither a configuration file nor an experiment; experiments: none here",
    ),
    Row(
        "no system named",
        "translate {repository}/config.yaml",
        "name a system with --system; experiment embedded has baseline, rnn",
    ),
    Row(
        "a system that is not there",
        "translate {repository}/config.yaml --system rnnn",
        "there is no system 'rnnn'; experiment embedded has baseline, rnn",
    ),
    Row(
        "a run that is not there",
        "translate {repository}/config.yaml --system rnn --run 4",
        "--run 4: system 'rnn' has runs 1 to 3",
    ),
    Row(
        "results that are not made",
        "translate {repository}/config.yaml --system rnn",
        "results/embedded/tuning/rnn/run1/weights.json: not made yet; run: snakemake --cores 2 results/embedded/tuning/rnn/run1/weights.json --configfile {repository}/config.yaml",
    ),
    Row(
        "fewer than no translations",
        "translate embedded --system rnn --nbest -1",
        "--nbest -1 --threads 1: take 0 or more translations and 1 thread or more",
    ),
    Row(
        "lists explained as text",
        "translate embedded --system rnn --nbest 5 --explain",
        "--nbest and --explain: lists are explained as JSON; add --output json or leave one out",
    ),
    Row(
        "a port that is none", "serve embedded --system rnn --port 70000", "--port 70000: take a number from 0 to 65535"
    ),
    Row(
        "settings that are none, for a page",
        "serve mine.yaml --system rnn",
        "mine.yaml, line 1: not valid YAML (expected ',' or ']', but got '<stream end>'); correct it",
        {"mine.yaml": "[a"},
    ),
]
