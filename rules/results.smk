"""Files of results that tables, plots and tests are made from."""


def labels():
    """Row names of the tables, in the order the systems are declared."""
    return {name: system.get("label", name) for name, system in SYSTEMS.items()}


def listed_paths(files):
    """All paths in nested mappings and lists."""
    if isinstance(files, str):
        return [files]
    return [path for part in (files.values() if isinstance(files, dict) else files) for path in listed_paths(part)]


def score_files(experiment):
    """Evaluation files: system -> set -> one per run."""
    pattern = f"results/{experiment}/evaluation/{{system}}/run{{run}}/{{set}}.json"
    return {
        system: {name: expand(pattern, system=system, run=runs(system), set=name) for name in SETS}
        for system in SYSTEMS
    }


def translations(systems, experiment, name):
    """Detokenised translations of a set: system -> one per run."""
    pattern = f"results/{experiment}/evaluation/{{system}}/run{{run}}/{name}.txt"
    return {system: expand(pattern, system=system, run=runs(system)) for system in systems}


def significance_files(experiment):
    """Comparisons with the baseline: set -> file."""
    return {name: f"results/{experiment}/evaluation/significance/{name}.json" for name in SETS}


def trained_files(network):
    """The model and the learning curve of a network."""
    folder = f"results/{EXPERIMENT}/training/{network}"
    return {"model": f"{folder}/model", "curve": f"{folder}/curve.csv"}


def network_files():
    """What the table of networks is made from: network -> its files, and which weights it kept."""
    networks = {
        name: trained_files(name)
        | {
            "keep": NETWORK_SETTINGS[name]["keep"],
            "rescoring": f"results/{EXPERIMENT}/rescoring/extracted/{name}.json",
        }
        for name in NETWORKS
    }
    networks |= {name: trained_files(name) | {"keep": "best"} for name in RECURRENT}
    networks |= {name: trained_files(name) | {"keep": NETWORK_SETTINGS[name]["keep"]} for name in ATTENTION_NETWORKS}
    for network in CSLMS:
        searched = [name for name in SEARCHED if searched_network(config, name) == network]
        networks[network] = trained_files(network) | {
            "keep": NETWORK_SETTINGS[network]["keep"],
            "searches": results("decoding/{system}/run1/{set}.json", system=searched, set=SETS),
        }
    return networks


def input_files(files):
    """The paths among a network's files."""
    return [files["model"], files["curve"], *files.get("searches", []), *filter(None, [files.get("rescoring")])]


def history_files(experiment):
    """Tuning histories: system -> one per run."""
    pattern = f"results/{experiment}/tuning/{{system}}/run{{run}}/history.csv"
    return {system: expand(pattern, system=system, run=RUNS) for system in TUNED}


def compared_data():
    """What the table of data is made from: the baseline and systems of other data -> their data and its files."""
    shown = [name for name in SYSTEMS if name == config["evaluation"]["baseline"]]
    shown += [name for name in SYSTEMS if name not in shown and resolve_data(SYSTEMS, name) != "selected"]
    return {
        name: {
            "data": resolve_data(SYSTEMS, name),
            "text": f"{LAYOUT.data_folder(name)}/selection/train.{TARGET}",
            "perplexity": f"{LAYOUT.data_folder(name)}/language_model/perplexity.json",
            "phrase_table": f"{LAYOUT.data_folder(name)}/phrases/table",
        }
        for name in shown
    }


PHRASE_TABLE_JOBS = ["phrases/build_phrase_table"]
if SHARDS > 1:
    rules_of_shards = ["extract_phrases", "consolidate_phrases", "count_targets", "score_phrases"]
    PHRASE_TABLE_JOBS += gather.shards("phrases/{rule}.{scatteritem}", rule=rules_of_shards)


# benchmarks of what is built from the training text alone
OF_DATA = [
    *expand("alignment/align.{direction}", direction=["forward", "backward"]),
    "alignment/symmetrise",
    "alignment/build_lexical_tables",
    *PHRASE_TABLE_JOBS,
    "language_model/build_language_model",
]


def scaling_files():
    """Number of pairs drawn -> benchmarks of the first system of it, from taking the pairs to translating the sets."""
    found = {}
    for name in SEARCHED:
        data = resolve_data(SYSTEMS, name)
        if drawn_pairs(data) is not None:
            names = [
                *expand("data/{variant}/benchmarks/{name}", variant=data, name=["selection/take_pairs", *OF_DATA]),
                f"benchmarks/tuning/tune/{name}.run1",
                *expand("benchmarks/decoding/decode/{system}.run1.{set}", system=name, set=SETS),
            ]
            found.setdefault(drawn_pairs(data), results("{name}.tsv", name=names))
    return found


def benchmark_files():
    """Snakemake's time and memory of the jobs that cost most; one stage per folder."""
    names = [
        *expand(of_shards("corpus/tokenise/{source}.{language}"), source=CORPUS["train"], language=[SOURCE, TARGET]),
        *(of_shards("selection/score_pool/train") if "train" in SHARDED_POOLS else []),
        "selection/select_pairs",
        *OF_DATA,
        *expand("training/train_network.{network}", network=used_networks(config)),
        *expand("representations/build_representation.{network}", network=JOINT_INPUTS),
        *gather.shards("rescoring/score_phrase_table.{network}.extracted.{scatteritem}", network=NETWORKS),
        *expand("tuning/tune/{system}.run{run}", system=TUNED, run=RUNS),
        *expand(of_shards("decoding/decode/{system}.run{run}.{set}"), system=SEARCHED, run=RUNS, set=SETS),
        *expand("decoding/decode/{system}.run{run}.{set}", system=RESCORED, run=RUNS, set=SETS),
        *gather.shards("decoding/decode/{system}.run1.{set}.{scatteritem}", system=TRANSLATED, set=SETS),
    ]
    files = [f"results/{{experiment}}/benchmarks/{name}.tsv" for name in names]
    return files + results("data/{variant}/benchmarks/{name}.tsv", variant=VARIANTS, name=OF_DATA)
