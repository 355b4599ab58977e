# syntax=docker/dockerfile:1
# The HTTP server over a memory in the volume /data, as a user without rights: packaging/docker/README.md shows its use.

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src/ecphora src/ecphora
RUN python -m venv /opt/ecphora \
    && /opt/ecphora/bin/python -m pip install --no-cache-dir --no-compile ".[server,mcp]" \
    && /opt/ecphora/bin/python -m pip uninstall --yes pip

FROM python:3.13-slim
LABEL org.opencontainers.image.title="Ecphora" \
      org.opencontainers.image.description="Associative long-term memory for LLM agents, over HTTP" \
      org.opencontainers.image.source="https://github.com/ecphora/ecphora" \
      org.opencontainers.image.licenses="Apache-2.0 AND MIT"
RUN useradd --system --uid 10001 --home-dir /data ecphora \
    && install --directory --owner=ecphora --mode=0700 /data
COPY --from=build /opt/ecphora /opt/ecphora
COPY --chmod=0555 packaging/docker/entrypoint packaging/docker/check-health /usr/local/bin/
ENV PATH=/opt/ecphora/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    ECPHORA_DB=/data/memory.db
USER 10001
WORKDIR /data
VOLUME ["/data"]
EXPOSE 8765
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s CMD ["check-health", "8765"]
ENTRYPOINT ["entrypoint"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8765"]
