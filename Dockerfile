# All that jobs and commands need, in the versions of the lock. Run it where the repository is:
#   docker build --tag neural-smt .
#   docker run --rm --user "$(id -u):$(id -g)" --volume "$PWD:/work" neural-smt snakemake --cores 2
# PyTorch is the build for CUDA; --build-arg PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu takes the small one.
FROM python:3.11.14-slim-bookworm

# eflomal is compiled, and so are steps of networks where a setting asks for that; versions are those of the base
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*

ARG PIP_EXTRA_INDEX_URL
COPY envs/requirements.lock /source/envs/
RUN pip install --no-cache-dir --requirement /source/envs/requirements.lock
COPY pyproject.toml README.md LICENSE /source/
COPY pkg /source/pkg
RUN pip install --no-cache-dir --no-deps /source

# compiled kernels and fonts go where any user can write
ENV XDG_CACHE_HOME=/tmp/cache
RUN useradd --create-home neural-smt
USER neural-smt
WORKDIR /work
CMD ["neural-smt", "--help"]
