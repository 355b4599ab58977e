"""The exchanges of a graph that a query may return: prompts with their responses."""

from dataclasses import replace

import numpy as np

from ..model.graph.graph import Graph
from ..model.types import Filter, Kind, Link, Mask, Query
from . import filters

RECALL_SOURCE = "recall"
"""The source of a stored recall question. It was answered from episodes, so it is an episode."""


def eligible_exchanges(graph: Graph, query: Query, eligible: Mask) -> Mask:
    """The exchanges that may be shown if only the memories under ``eligible`` may be.

    A response may repeat any memory that was recalled for it, so all these memories must be eligible, and the exchange
    must have happened and been recorded in time. An exchange with such memories needs no name or metadata that passes
    the query's filter; an exchange without them must pass the filter itself.
    """
    exchanges = graph.of_kind(Kind.EXCHANGE)
    if not exchanges.any():
        return exchanges
    edges = graph.edges_of_link(Link.BASED_ON)
    src, dst = graph.edges["src"][edges], graph.edges["dst"][edges]
    has_source = np.zeros(len(graph), np.bool_)
    has_source[src] = True
    allowed = filters.matching(graph, query, exchanges)
    allowed |= has_source & filters.matching(graph, replace(query, where=Filter()), exchanges)
    while True:  # an exchange may be based on another one
        blocked = np.zeros(len(graph), np.bool_)
        blocked[src[~(eligible | allowed)[dst]]] = True
        if not (allowed & blocked).any():
            return allowed
        allowed &= ~blocked


def answered_questions(graph: Graph) -> Mask:
    """The stored questions whose exchange stands for them."""
    mask = np.zeros(len(graph), np.bool_)
    mask[graph.edges["dst"][graph.edges_of_link(Link.RESPONDS_TO)]] = True
    return mask
