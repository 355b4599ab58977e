// Written by scripts/generate_typescript from the server's OpenAPI document. Do not edit.

import type { CallOptions } from "./index.js";

/**
 * One entry of the access log: that a node was stored, stimulated, recalled, used or marked, and when.
 *
 * The `ENCODED` access of storing an episode is implicit: a graph logs it under the node's own `seq`.
 * `count` is the number of accesses of this kind to the node up to this access, expired ones included; like `seq`
 * the store assigns it, 0 means not yet stored.
 */
export interface Access {
  node: string;
  at: string;
  kind: AccessKind | Mark;
  strength: number;
  seq: number;
  count: number;
}

/** Why a node was accessed. */
export type AccessKind = "encoded" | "stimulated" | "recalled" | "used";

/**
 * An answer and the memories that it cites.
 *
 * `cited_ids` are the memories it cites, all of them shown to the model or quoted. `is_answered` is False if the
 * memory does not hold the answer; then `text` says so. `usage` is the model's usage, `prompt` the prompt that
 * was sent to it, None if nothing was sent. `is_extractive` says that the text only quotes a memory, because there
 * is no model or it failed; `error` is why it failed. `exchange_id` is the exchange in which it is recorded, None
 * if it is not. `notices` are the notices of the recollection.
 */
export interface Answer {
  text: string;
  cited_ids: string[];
  is_answered: boolean;
  evidence: Evidence;
  usage: LLMUsage;
  prompt: Prompt | null;
  is_extractive: boolean;
  error: string | null;
  exchange_id: string | null;
  notices: string[];
}

/** The arguments of `answer`. */
export interface AnswerRequest {
  /** What is asked. */
  question: string | Record<string, unknown> | Record<string, unknown>[];
  /** The most tokens of the memories' texts, estimated. */
  budget?: number;
  /** The most results. */
  limit?: number;
  /** Which memories are eligible. */
  where?: Filter;
  /** The point in event time asked about. ISO 8601; a date, or a time to the minute or second, means its end; without an offset it is local time of the memory's zone. */
  as_of?: string | null;
  /** The point in recording time asked about. ISO 8601; a date, or a time to the minute or second, means its end; without an offset it is local time of the memory's zone. */
  known_at?: string | null;
  /** How memories are scored; by default as the server was started. */
  strategy?: string | null;
  rerank?: Rerank;
  include?: string | string[];
  /** What the answer is for. */
  goal?: string | null;
  options?: RecallOptions;
  record?: boolean;
}

/** The arguments of `chunks`. */
export interface ChunksRequest {
  /** The id of a memory. */
  id: string;
}

/** The arguments of `consolidate`. */
export interface ConsolidateRequest {
  /** The most seconds that it may take. */
  seconds?: number | null;
  /** The most tokens of the language model. */
  tokens?: number | null;
  dry_run?: boolean;
}

/**
 * The result of a consolidation run.
 *
 * `undo_batch` is what the run wrote, undone by its id; None if it wrote nothing: nothing was new, it was a dry run,
 * or the run was rolled back. `counts` maps names to how much was written or, in a dry run, would be.
 * `pending_count` is the number of new memories still to be consolidated. `probe_count` past queries were
 * replayed; `recall_before` and `recall_after` are the fractions of the used memories that they recalled.
 * `is_regression` says that the run would have cost recall and was rolled back. If another process wrote an undo
 * batch meanwhile, the steps before the step that would have cost recall stay: they are in `undo_batch`. `usage`
 * is what the language model consumed. `estimate` is its usage as estimated, after a dry run with a language model
 * alone.
 */
export interface ConsolidationResult {
  undo_batch: UndoBatch | null;
  counts: Record<string, number>;
  pending_count: number;
  probe_count: number;
  recall_before: number;
  recall_after: number;
  is_regression: boolean;
  usage: LLMUsage;
  estimate: LLMEstimate | null;
}

/** One feature's part of a score: `value` is the part, `path` the nodes along which the feature spread. */
export interface Contribution {
  feature: string;
  value: number;
  path: string[];
}

/** The arguments of `count`. */
export interface CountRequest {
  /** Which memories are eligible. */
  where?: Filter;
}

/**
 * A person, place or thing that hits mention; `ids` are the ids of the hits, best first.
 *
 * `score`, 0 to 1, says how near the engram is to the question. A language model read `type`, `description` and
 * `importance`, 1 to 5, in the best of the hits; they are None without a language model.
 */
export interface EngramHit {
  id: string;
  name: string;
  score: number;
  ids: string[];
  type: string | null;
  description: string | null;
  importance: number | null;
}

/** The arguments of `entities.merge`. */
export interface EntitiesMergeRequest {
  name: string;
  other: string;
}

/** The arguments of `entities.split`. */
export interface EntitiesSplitRequest {
  name: string;
  other: string;
}

/**
 * An episode to remember, as the caller gives it.
 *
 * `id` is the caller's own id; by default the id follows from the content, and from how often it was said.
 * `happened_at` takes an ISO 8601 string, a date or a datetime; without an offset it is local time of the memory's
 * zone, and None means the time of recording. `supersedes` is the id of the memory that this one replaces from
 * `happened_at` on, whoever said it. The fields are checked when the episode is remembered.
 *
 * `trust`, 0 to 1, limits supersession: a memory never supersedes one of higher trust, neither by `supersedes`
 * nor through consolidation. It does not affect ranking yet. `speaker` limits it too: consolidation lets nobody else
 * supersede what a speaker said of themselves, and an unknown speaker (None) supersedes only what an unknown speaker
 * said. Speakers are compared exactly: "ana" is not "Ana".
 */
export interface Episode {
  /** The text of a memory. */
  text: string;
  /** The id of a memory. */
  id?: string | null;
  speaker?: string | null;
  session?: string | null;
  /** ISO 8601; a date alone means its beginning, without an offset it is local time of the memory's zone. */
  happened_at?: string | null;
  title?: string | null;
  source?: string | null;
  /** Texts, numbers, booleans, nulls or lists of these, by name; in a filter, conditions. */
  metadata?: Record<string, string | number | boolean | (string | number | boolean | null)[] | null>;
  trust?: number;
  /** The id of the memory that this one ends. */
  supersedes?: string | null;
  media?: Media[];
}

/** The answer to a request that failed. */
export interface ErrorAnswer {
  error: ErrorDetail;
}

/** What went wrong: the name of the error's class in Python, and a message that says how to mend it. */
export interface ErrorDetail {
  type: string;
  message: string;
}

/** How well a recollection answers its question: the band of its confidence. */
export type Evidence = "strong" | "weak" | "none";

/**
 * An earlier prompt like the question, and the response that was given to it.
 *
 * An exchange says what was answered, not what is true. `source_ids` are the memories that were recalled for the
 * prompt, and the earlier exchanges and the sources of insights that were shown with them; `used_ids` are the
 * memories that the response used, as far as that is known. `source` is the model that gave the response.
 */
export interface ExchangeHit {
  id: string;
  prompt: string;
  response: string;
  happened_at: string;
  score: number;
  source_ids: string[];
  used_ids: string[];
  source: string | null;
  session: string | null;
}

/** The arguments of `export`. */
export interface ExportRequest {
  vectors?: boolean;
}

/**
 * How the texts of one call were read, and what the language model consumed for them.
 *
 * `by_model` texts were read by the model, `cached` had been read before, `by_rules` were left to the rules,
 * because the model failed or the budget was used up: `errors` has each reason once. `rejected` counts names and
 * relations of the model that do not occur in their text.
 */
export interface ExtractionReport {
  by_model: number;
  cached: number;
  by_rules: number;
  rejected: number;
  errors: string[];
  usage: LLMUsage;
}

/** What a later memory does to an earlier one. */
export type FactRelation = "supersedes" | "contradicts";

/**
 * A fact update that consolidation found: `new` supersedes `old` or contradicts it.
 *
 * `valid_from` is when `new` becomes valid, `valid_to` when it ends by its own text; `confidence` is in 0..1.
 */
export interface FactUpdate {
  old: Node;
  new: Node;
  valid_from: string;
  valid_to: string | null;
  confidence: number;
  relation: FactRelation;
}

/** The arguments of `facts.accept`. */
export interface FactsAcceptRequest {
  old: string;
  new: string;
}

/** The arguments of `facts.reject`. */
export interface FactsRejectRequest {
  old: string;
  new: string;
}

/** The arguments of `facts.updates`. */
export interface FactsUpdatesRequest {
  pending?: boolean;
  /** The most results. */
  limit?: number;
}

/** The arguments of `feedback`. */
export interface FeedbackRequest {
  recollection: Recollection;
  used_ids: string[];
}

/**
 * Which memories are eligible; a field that is left out allows all.
 *
 * Several names match any of them, and an empty list of names matches nothing; memories with a name in
 * `not_speakers`, `not_sessions` or `not_sources` are left out, memories without a name are not. `speakers`,
 * `sessions` and `sources` also take a mapping of the operators `$eq`, `$in`, `$ne` and `$nin`, as in
 * `{"$nin": ["tool"]}`: such a mapping becomes names in both fields. `after` and `before` bound event time,
 * `recorded_after` and `recorded_before` recording time, half-open; they take what `happened_at` takes and are
 * datetimes from then on, which have an offset if it was given. `metadata` is a mapping of values that must all
 * match, or of operators (`{"age": {"$gte": 3}}`), or a condition of :mod:`ecphora.model.conditions`. `min_trust`
 * leaves out memories with less trust.
 *
 * Raises `InvalidTime` for a bound that is not a time, and `InvalidInput` for an unknown operator or a wrong
 * operand; the other fields are checked when the filter is used.
 */
export interface Filter {
  speakers?: string | string[] | Record<string, unknown> | null;
  sessions?: string | string[] | Record<string, unknown> | null;
  sources?: string | string[] | Record<string, unknown> | null;
  /** Texts, numbers, booleans, nulls or lists of these, by name; in a filter, conditions. */
  metadata?: Record<string, unknown>;
  /** The earliest time, inclusive; in find, the cursor of the page before. */
  after?: string | null;
  /** The latest time, exclusive. */
  before?: string | null;
  recorded_after?: string | null;
  recorded_before?: string | null;
  min_trust?: number;
  not_speakers?: string | string[];
  not_sessions?: string | string[];
  not_sources?: string | string[];
}

/**
 * Which memories are eligible; a field that is left out allows all.
 *
 * Several names match any of them, and an empty list of names matches nothing; memories with a name in
 * `not_speakers`, `not_sessions` or `not_sources` are left out, memories without a name are not. `speakers`,
 * `sessions` and `sources` also take a mapping of the operators `$eq`, `$in`, `$ne` and `$nin`, as in
 * `{"$nin": ["tool"]}`: such a mapping becomes names in both fields. `after` and `before` bound event time,
 * `recorded_after` and `recorded_before` recording time, half-open; they take what `happened_at` takes and are
 * datetimes from then on, which have an offset if it was given. `metadata` is a mapping of values that must all
 * match, or of operators (`{"age": {"$gte": 3}}`), or a condition of :mod:`ecphora.model.conditions`. `min_trust`
 * leaves out memories with less trust.
 *
 * Raises `InvalidTime` for a bound that is not a time, and `InvalidInput` for an unknown operator or a wrong
 * operand; the other fields are checked when the filter is used.
 */
export interface FilterAnswer {
  speakers: string | string[] | Record<string, unknown> | null;
  sessions: string | string[] | Record<string, unknown> | null;
  sources: string | string[] | Record<string, unknown> | null;
  metadata: Record<string, unknown>;
  after: string | null;
  before: string | null;
  recorded_after: string | null;
  recorded_before: string | null;
  min_trust: number;
  not_speakers: string | string[];
  not_sessions: string | string[];
  not_sources: string | string[];
}

/** The arguments of `find`. */
export interface FindRequest {
  /** Which memories are eligible. */
  where?: Filter;
  order?: Order;
  /** The most results. */
  limit?: number;
  /** The earliest time, inclusive; in find, the cursor of the page before. */
  after?: string | null;
}

/** The arguments of `forget`. */
export interface ForgetRequest {
  /** The id of a memory, or a list of ids. */
  ids?: string | string[];
  /** Which memories are eligible. */
  where?: Filter | null;
  everything?: boolean;
  dry_run?: boolean;
}

/**
 * What `forget` removed: `episode_ids` as asked for, `entity_ids` that nothing else mentioned.
 *
 * `exchange_ids` are the exchanges that go with a memory which was shown for their response. Insights derived from a
 * memory and questions that it answered are removed with it and not listed; a question that was named by its own id is
 * among `episode_ids`. `notices` are messages for the user, such as the names in the filter that no memory has.
 */
export interface ForgetResult {
  episode_ids: string[];
  entity_ids: string[];
  exchange_ids: string[];
  notices: string[];
}

/** The arguments of `get`. */
export interface GetRequest {
  /** The id of a memory. */
  id: string;
}

/**
 * What the caller is working towards while it asks: a cue besides the question.
 *
 * `vector` is `None` without an embedder; `embedder_coverage` says how much (0..1) of the goal's language it
 * reads.
 */
export interface Goal {
  text: string;
  embedder_coverage: number;
}

/** The server answers. */
export interface Health {
  status: "ok";
}

/**
 * The history of a memory: its predecessors and successors, oldest first, and the accesses that are kept.
 *
 * The `count` of an access says how many accesses of its kind there were, expired accesses included.
 */
export interface History {
  node: Node;
  predecessors: Node[];
  successors: Node[];
  accesses: Access[];
}

/** The arguments of `history`. */
export interface HistoryRequest {
  /** The id of a memory. */
  id: string;
}

/** The hits that mention one instance of a class, by their ids. */
export interface HitGroup {
  instance: string;
  ids: string[];
}

/**
 * A summary of several memories, with its sources; it is deleted with any of them.
 *
 * `level` is 1 for insights over memories, 2 for insights over such insights, and so on. `is_valid` is False once
 * one of its sources was superseded.
 */
export interface Insight {
  id: string;
  kind: Kind;
  text: string;
  happened_at: string;
  recorded_at: string;
  speaker: string | null;
  session: string | null;
  title: string | null;
  source: string | null;
  document: string | null;
  position: number;
  start: number;
  heading: string | null;
  valid_from: string | null;
  valid_to: string | null;
  trust: number;
  metadata: Record<string, string | number | boolean | (string | number | boolean | null)[] | null>;
  seq: number;
  media: StoredMedia[];
  level: number;
  sources: Node[];
  is_valid: boolean;
}

/**
 * An insight near a question: a shortcut to the memories that it summarizes, whose ids are `source_ids`.
 *
 * `score` is in 0..1; `level` is as in :class:`Insight`.
 */
export interface InsightHit {
  id: string;
  text: string;
  score: number;
  source_ids: string[];
  level: number;
}

/** The arguments of `insights`. */
export interface InsightsRequest {
  /** What is asked. */
  question?: string | null;
  /** The most results. */
  limit?: number;
}

/** A half-open time interval, `start <= t < end`. */
export interface Interval {
  start: string;
  end: string;
}

/**
 * A job. `done` of `total` memories are processed, 0 of 0 until they are counted.
 *
 * `result` is what the method returned, null until then and if the job failed or was canceled.
 */
export interface JobAnswer {
  id: string;
  scope: string;
  state: "waiting" | "running" | "done" | "failed" | "canceled";
  done: number;
  total: number;
  created_at: string;
  ended_at: string | null;
  result: ConsolidationResult | null;
  error: ErrorDetail | null;
}

/** A job that was started; ``GET /v1/jobs/{id}`` says how far it is. */
export interface JobStart {
  /** The id of the job. */
  job: string;
}

/** What a node stands for. */
export type Kind = "episode" | "entity" | "insight" | "claim" | "question" | "description" | "exchange";

/**
 * What prompts would cost before any is sent; all tokens are estimated.
 *
 * `calls` and `tokens_in` count every prompt once. The `max_` fields are upper bounds: they count every prompt
 * as often as it may be repeated, and every reply as long as it may be.
 */
export interface LLMEstimate {
  calls: number;
  tokens_in: number;
  max_calls: number;
  max_tokens_in: number;
  max_tokens_out: number;
}

/**
 * What a language model consumed. `calls` include `retries`; `failures` counts prompts without a result.
 *
 * `cost_usd` is in US dollars. Tokens, seconds and dollars count for replies received only.
 */
export interface LLMUsage {
  calls: number;
  retries: number;
  failures: number;
  tokens_in: number;
  tokens_out: number;
  seconds: number;
  cost_usd: number;
}

/** The arguments of `maintenance.archive`. */
export interface MaintenanceArchiveRequest {
  /** The id of a memory, or a list of ids. */
  ids: string | string[];
}

/** The arguments of `maintenance.batches`. */
export interface MaintenanceBatchesRequest {
}

/** The arguments of `maintenance.decayed`. */
export interface MaintenanceDecayedRequest {
  /** The most results. */
  limit?: number;
}

/** The arguments of `maintenance.pin`. */
export interface MaintenancePinRequest {
  /** The id of a memory, or a list of ids. */
  ids: string | string[];
}

/** The arguments of `maintenance.unarchive`. */
export interface MaintenanceUnarchiveRequest {
  /** The id of a memory, or a list of ids. */
  ids: string | string[];
}

/** The arguments of `maintenance.undo`. */
export interface MaintenanceUndoRequest {
  batch?: string | null;
}

/** The arguments of `maintenance.unpin`. */
export interface MaintenanceUnpinRequest {
  /** The id of a memory, or a list of ids. */
  ids: string | string[];
}

/** How a node was marked. A mark is not an access; the latest of each pair of marks decides. */
export type Mark = "pinned" | "unpinned" | "archived" | "unarchived";

/**
 * A picture, sound or video of a memory, by reference.
 *
 * `reference` is a URI or path; nothing is ever loaded from it. `caption` describes the content; it is indexed and
 * embedded with the text of the memory. `vector` comes from an embedder of the caller, whose name is `model`;
 * vectors of different models are never compared. A medium that comes back from the memory has no vector.
 */
export interface Media {
  reference: string;
  kind?: MediaKind;
  caption?: string;
  vector?: number[];
  model?: string | null;
}

/** What a medium is. */
export type MediaKind = "picture" | "sound" | "video" | "other";

/** A vector to search media with: of a picture, a sound, or a text, by the model that made the vectors of media. */
export interface MediaQuery {
  vector: number[];
  model: string;
}

/**
 * How `remember` turns chat messages into memories.
 *
 * `speakers` maps roles to speakers, as in `{"user": "Ana", "assistant": "Bot"}`; a role without an entry is its
 * own speaker. `keep_tool_results` and `keep_system_prompts` say whether tool results, and system and developer
 * prompts, are remembered too, with the `source` "tool" and "system". The fields are checked when they are used.
 */
export interface MessageOptions {
  speakers?: Record<string, string>;
  keep_tool_results?: boolean;
  keep_system_prompts?: boolean;
}

/**
 * Why a memory did not come back.
 *
 * ``NOT_FOUND``: there is no such memory. ``FILTER``: the filter, or the time asked about, does not let it through.
 * ``NO_ACTIVATION``: neither the question nor a name led to it, so it has no score. ``NEGATIVE_SCORE``: it was scored,
 * and more speaks against it than for it. ``BELOW_CUTOFF``: its rank is beyond the limit. ``BUDGET``: it was within
 * the limit, but its text did not fit into the budget. ``NONE``: it did come back.
 */
export type MissReason = "not_found" | "filter" | "no_activation" | "negative_score" | "below_cutoff" | "budget" | "none";

/**
 * One node of the memory graph.
 *
 * `happened_at` is event time, `recorded_at` recording time; `valid_from` and `valid_to` bound the time in
 * which the text is valid (`None`: open). `seq` counts insertions and accesses of a scope; the store assigns it,
 * 0 means not yet stored. A long text is stored as several chunks: nodes that share a `document` and count
 * `position` up; joined in that order they are the text again. A chunk begins at character `start` of the text,
 * under the heading path `heading`: "Guide > Timers", or None. The `text` of an exchange is the response, its
 * `title` the prompt.
 */
export interface Node {
  id: string;
  kind: Kind;
  text: string;
  happened_at: string;
  recorded_at: string;
  speaker: string | null;
  session: string | null;
  title: string | null;
  source: string | null;
  document: string | null;
  position: number;
  start: number;
  heading: string | null;
  valid_from: string | null;
  valid_to: string | null;
  trust: number;
  metadata: Record<string, string | number | boolean | (string | number | boolean | null)[] | null>;
  seq: number;
  media: StoredMedia[];
}

/** The orders of :meth:`Memory.find`: by event time or recording time, ascending or (``-``) descending. */
export type Order = "happened_at" | "-happened_at" | "recorded_at" | "-recorded_at";

/**
 * Some memories in an order; `cursor` leads to the page after this one, None if it is the last.
 *
 * A page is iterated like its memories. `notices` are messages for the user, such as the names in the filter that no
 * memory has.
 */
export interface Page {
  memories: Node[];
  cursor: string | null;
  notices: string[];
}

/**
 * A prompt for a language model: `system` has the instructions, `user` the input.
 *
 * `schema` is the JSON schema that the reply must follow, None for plain text. `max_tokens` bounds the reply.
 */
export interface Prompt {
  system: string;
  user: string;
  max_tokens: number;
  schema: Record<string, unknown> | null;
}

/**
 * A question with its analysis and options: all that a strategy gets besides the graph.
 *
 * `vector` is `None` without an embedder; else `embedder` names the model. `embedder_coverage` says how much
 * (0..1) of the query's language the embedder reads, `similarity_floor` at which cosine it finds two texts
 * unrelated. `english_vector` is the vector of an English query for the English vectors of memories, else `None`.
 *
 * `term_hashes` are the hashes of the content words, in order. `word_vectors` has the vectors of the content words
 * as they stand in the query, zeros for words without a vector, shape `(len(term_hashes), dim)`; `None` if the
 * embedder gives none. `entity_ids` are the ids of the entities that the query names. `relation_names` are the
 * names that memories give to relations in the query, such as "my sister"; `named_text` is the text with these names
 * in their place, "" if there are none.
 *
 * `main_speaker` is the name of the speaker who says nearly all, "" without such a speaker; `first_person_text` is
 * a question about this speaker in the first person, as the speaker would ask it, else "". `time_ranges` are the
 * time intervals that the query asks about. `identifiers` are the identifiers that the query names, `quantities`
 * the hashes of its amounts with a unit.
 *
 * `as_of` is in event time, `known_at` in recording time; with `retroactive`, what was said after `as_of`
 * counts too, as far as it claims to be valid by then. `where` says which memories are eligible. `goal` is what
 * the caller is working towards, None if the caller names nothing.
 */
export interface Query {
  text: string;
  now: string;
  embedder: string;
  embedder_coverage: number;
  similarity_floor: number;
  entity_ids: string[];
  relation_names: RelationName[];
  named_text: string;
  main_speaker: string;
  first_person_text: string;
  time_ranges: Interval[];
  as_of: string | null;
  known_at: string | null;
  retroactive: boolean;
  where: FilterAnswer;
  goal: Goal | null;
}

/**
 * One memory that came back, how strongly, and why.
 *
 * `validity` says whether it is still valid, None where nothing bounds, supersedes or contradicts it.
 * `reason_source` is called for the text of `reason`.
 */
export interface RankedHit {
  rank: number;
  reason: string;
  id: string;
  kind: Kind;
  text: string;
  happened_at: string;
  recorded_at: string;
  speaker: string | null;
  session: string | null;
  title: string | null;
  source: string | null;
  document: string | null;
  position: number;
  start: number;
  heading: string | null;
  valid_from: string | null;
  valid_to: string | null;
  trust: number;
  metadata: Record<string, string | number | boolean | (string | number | boolean | null)[] | null>;
  seq: number;
  media: StoredMedia[];
  score: number;
  why: Contribution[];
  validity: Validity | null;
}

/**
 * What a recall rarely needs besides its arguments. The fields are checked when they are used.
 *
 * `retroactive`, together with `as_of`, also returns memories that were told later but claim to hold by then.
 *
 * `media_query` is the vector of a picture or sound: memories whose media of the same model are near to it come back
 * too. The ranks by text and by media are joined; the evidence comes from the text alone.
 *
 * With `rerank_ms`, a deadline in milliseconds, the reranker starts no batch that would probably end later; the cost
 * of the recall says how many candidates it left unread.
 *
 * `explain=False` leaves out the reasons. `log_access=False` leaves no trace in the access log.
 */
export interface RecallOptions {
  retroactive?: boolean;
  media_query?: MediaQuery | null;
  /** A deadline for the reranker in milliseconds; without it, all chosen candidates are read. */
  rerank_ms?: number | null;
  explain?: boolean;
  log_access?: boolean;
}

/** The arguments of `recall`. */
export interface RecallRequest {
  /** What is asked. */
  question: string | Record<string, unknown> | Record<string, unknown>[];
  /** The most results. */
  limit?: number;
  /** The most tokens of the memories' texts, estimated. */
  budget?: number | null;
  /** Which memories are eligible. */
  where?: Filter;
  /** The point in event time asked about. ISO 8601; a date, or a time to the minute or second, means its end; without an offset it is local time of the memory's zone. */
  as_of?: string | null;
  /** The point in recording time asked about. ISO 8601; a date, or a time to the minute or second, means its end; without an offset it is local time of the memory's zone. */
  known_at?: string | null;
  /** How memories are scored; by default as the server was started. */
  strategy?: string | null;
  rerank?: Rerank;
  include?: string | string[];
  /** What the answer is for. */
  goal?: string | null;
  options?: RecallOptions;
}

/**
 * The result of a recall, best hit first. `evidence` is the band of `confidence`, a probability.
 *
 * Its length is the number of hits; an index returns a hit, a slice a tuple of hits. `print` and notebooks show it
 * as a table. `engrams`, `insights` and `exchanges` are what came back besides the memories; each is empty
 * unless the recall was asked to include it. `notices` are messages for the user, such as the names in the filter
 * that no memory has.
 */
export interface Recollection {
  question: string;
  groups: HitGroup[];
  milliseconds: number;
  step_milliseconds: Record<string, number>;
  tokens: number;
  passages_reranked: number;
  passages_left: number;
  reranker_error: string | null;
  query: Query;
  strategy: string;
  evidence: Evidence;
  confidence: number;
  hits: RankedHit[];
  engrams: EngramHit[];
  insights: InsightHit[];
  exchanges: ExchangeHit[];
  notices: string[];
}

/** The arguments of `record_response`. */
export interface RecordResponseRequest {
  recollection: Recollection;
  /** The text of a memory. */
  text: string;
  used_ids?: string[];
  context_ids?: string[];
  source?: string | null;
  session?: string | null;
}

/** The name of a relation in a question: `phrase` "my sister" is `name` "Marta", as memory `node` tells. */
export interface RelationName {
  phrase: string;
  name: string;
  node: string;
}

/** The arguments of `remember`. */
export interface RememberRequest {
  /** A text, an episode or a chat message, or a list of them. */
  content: string | Episode | Record<string, unknown> | (string | Episode | Record<string, unknown>)[];
  /** The id of a memory. */
  id?: string | null;
  speaker?: string | null;
  session?: string | null;
  /** ISO 8601; a date alone means its beginning, without an offset it is local time of the memory's zone. */
  happened_at?: string | null;
  title?: string | null;
  source?: string | null;
  /** Texts, numbers, booleans, nulls or lists of these, by name; in a filter, conditions. */
  metadata?: Record<string, string | number | boolean | (string | number | boolean | null)[] | null> | null;
  trust?: number;
  /** The id of the memory that this one ends. */
  supersedes?: string | null;
  message_options?: MessageOptions;
  restore?: boolean;
  dry_run?: boolean;
}

/**
 * The result of `remember`, in the order of the episodes.
 *
 * `ids` has one entry per episode. `created` were written now, `existing` were there already, `blocked` were
 * forgotten before and stay forgotten. `unread` are the ids of `created` whose texts the embedder mostly cannot
 * read: they are found by their words, not by meaning. `omitted` counts the parts of chat messages that are not
 * remembered, by kind, such as `tool_call` and `image_url`. `extraction` says how an extractor with a language
 * model read the texts, None for other extractors. `estimate` is the cost that reading the texts would have; only a
 * dry run has it.
 */
export interface RememberResult {
  ids: string[];
  created: string[];
  existing: string[];
  blocked: string[];
  unread: string[];
  omitted: Record<string, number>;
  extraction: ExtractionReport | null;
  estimate: LLMEstimate | null;
}

/** When a recall has a reranker read its best candidates: if the ranking leaves doubt, never, or always. */
export type Rerank = "auto" | "never" | "always";

/** A scope as stored: its name, revision, number of episodes (a long text is one) and embedding model. */
export interface ScopeInfo {
  name: string;
  revision: number;
  episodes: number;
  embedder: string | null;
}

/** A picture, sound or video of a memory, by reference; its vector is not returned. */
export interface StoredMedia {
  reference: string;
  kind: MediaKind;
  caption: string;
}

/**
 * What an export or import wrote.
 *
 * `existing` nodes were there already, `blocked` ones have a tombstone there; `skipped` items of the file name
 * memories that the import does not bring, and were left out; `notices` are messages for the user.
 */
export interface TransferResult {
  nodes: number;
  edges: number;
  validity_ends: number;
  accesses: number;
  tombstones: number;
  vectors: number;
  existing: number;
  blocked: number;
  skipped: number;
  notices: string[];
}

/** A write batch that can be undone by its id: when it was written, and how many items of each name it wrote. */
export interface UndoBatch {
  id: string;
  at: string;
  counts: Record<string, number>;
}

/** The arguments of `update`. */
export interface UpdateRequest {
  /** The id of a memory. */
  id: string;
  /** The text of a memory. */
  text: string;
  mode: "supersede" | "replace";
  /** ISO 8601; a date alone means its beginning, without an offset it is local time of the memory's zone. */
  happened_at?: string | null;
  /** Texts, numbers, booleans, nulls or lists of these, by name; in a filter, conditions. */
  metadata?: Record<string, string | number | boolean | (string | number | boolean | null)[] | null> | null;
  restore?: boolean;
  if_unchanged?: null;
}

/**
 * Whether a memory is valid at the time asked about, given what other memories claim.
 *
 * `valid_to` is when it ceases to be valid, by its successor or by its own text; `superseded_by` are its
 * successors, `contradicted_by` the memories that contradict it without superseding it.
 */
export interface Validity {
  is_valid: boolean;
  valid_to: string | null;
  superseded_by: string[];
  contradicted_by: string[];
}

/**
 * Why a memory did not come back.
 *
 * `rank` is its rank, from 1, among the `candidates` that were active. `score` is the sum of its contributions.
 * `cutoff_score` and `cutoff_rank` are score and rank of the last hit, None if nothing came back. `shortfall` is
 * what the contributions of that hit have beyond this memory's, largest first: what would have lifted it. `reason`
 * says in words what sets that hit apart from it, as `Hit.reason` does. `failed_filters` names the conditions that
 * keep it out, `required_budget` is a budget that has room for it; both are there only where that is the reason.
 */
export interface WhyNot {
  sentence: string;
  id: string;
  miss_reason: MissReason;
  rank: number | null;
  candidates: number;
  score: number;
  cutoff_score: number | null;
  cutoff_rank: number | null;
  shortfall: Contribution[];
  reason: string;
  failed_filters: string[];
  required_budget: number | null;
}

/** The arguments of `why_not`. */
export interface WhyNotRequest {
  /** What is asked. */
  question: string | Record<string, unknown> | Record<string, unknown>[];
  /** The id of a memory. */
  id: string;
  /** The most results. */
  limit?: number;
  /** The most tokens of the memories' texts, estimated. */
  budget?: number | null;
  /** Which memories are eligible. */
  where?: Filter;
  /** The point in event time asked about. ISO 8601; a date, or a time to the minute or second, means its end; without an offset it is local time of the memory's zone. */
  as_of?: string | null;
  /** The point in recording time asked about. ISO 8601; a date, or a time to the minute or second, means its end; without an offset it is local time of the memory's zone. */
  known_at?: string | null;
  /** How memories are scored; by default as the server was started. */
  strategy?: string | null;
  rerank?: Rerank;
  /** What the answer is for. */
  goal?: string | null;
  options?: RecallOptions;
}

/** The methods of a memory that are a plain request. */
export interface PlainMethods {
  /**
   * Remember one text, or many; every text is checked before the first is written.
   *
   * `speaker`, `session`, `happened_at`, `title`, `source` and `metadata` describe a plain text; an
   * `Episode` brings its own. A chat message in the shape of OpenAI, Anthropic or LangChain is remembered
   * with its role as the speaker. Its own name and time come before these arguments.
   *
   * `message_options` gives roles other names, and says whether tool results and system prompts are kept;
   * `omitted` of the result counts what was left out (see `ecphora.remember.messages`).
   *
   * `id` names the memory; without it the memory gets a digest of its content. A memory that is already stored
   * under the same id stays as it is. So do equal texts that have a time, title, source or media, and a list that is
   * remembered twice. One text alone, without them, is a new memory if something newer was stored in its session
   * since it was last said (see `ecphora.remember.documents`).
   *
   * `restore` stores what was forgotten before. Otherwise `blocked` of the result has its id, and a
   * `BlockedWarning` says so.
   *
   * `supersedes` ends the validity of the memory with that id, whoever said it. `trust` limits this: a memory
   * never supersedes one of higher trust, neither by `supersedes` nor as detected by `consolidate`. Trust
   * does not affect ranking yet.
   *
   * `dry_run` writes and sends nothing: the result has what would be written, and in `estimate` what an
   * extractor with a language model would consume. `extraction` of the result says how such an extractor read the
   * texts.
   *
   * Many texts are committed in batches of 512; each batch is written whole or not at all.
   *
   * Raises `InvalidInput` for a text, message, name or time that cannot be used, and for a `supersedes` that
   * names a memory that does not exist or has a higher trust; `IdCollision` for an id that stands for another
   * text.
   *
   * The token needs the right to `write`.
   */
  remember(content: string | Episode | Record<string, unknown> | (string | Episode | Record<string, unknown>)[], options?: Pick<RememberRequest, "id" | "speaker" | "session" | "happened_at" | "title" | "source" | "metadata" | "trust" | "supersedes" | "message_options" | "restore" | "dry_run">, call?: CallOptions): Promise<RememberResult>;
  /**
   * Return the memories that belong to a question, best first.
   *
   * `question` is a text, or the messages of a chat. Messages ask the last user message, together with the user
   * messages before it if it is short, as in "and in May?"
   * (`ecphora.remember.messages.question_from_messages` has the rule). `query.text` of the result is the
   * question asked. Recall before you remember the last message, so that it does not find itself.
   *
   * `limit` bounds the hits, `budget` the tokens of their texts (estimated). `where` filters what may be
   * returned at all. `as_of` is a point in event time: nothing that happened later is returned, and no hit shows
   * anything of it. `known_at` is a point in recording time: nothing recorded later is returned.
   *
   * `rerank` says when the reranker reads the best candidates of a strategy that lets it, as `fused` does:
   * `"auto"` only if the ranking leaves doubt, `"never"`, or `"always"`. How much it reads is a matter of
   * counts, so equal recalls give equal results. If the reranker fails, the recall goes on without it, and the cost
   * says why.
   *
   * `include` names what comes back besides the memories, at most `limit` of each: `"engrams"` are the names
   * that the hits mention, `"insights"` summaries near the question, and `"exchanges"` earlier prompts like it
   * with their responses. None of them counts as a memory or changes the hits and the evidence.
   *
   * `goal` says what the answer is for, as in `goal="plan Noah's birthday party"`: memories that fit it rank
   * higher, the more the less sure the question alone is of its answer. It returns nothing that the question does
   * not find, and changes neither the evidence nor the confidence. Only `fused` ranks by it.
   *
   * `options` has what is rarely needed (`ecphora.model.types.RecallOptions`).
   *
   * A recall waits less than a second for the access log and never fails because of it: what cannot be written is
   * counted, see `unlogged_count`. Raises `InvalidInput` for an argument that cannot be used, for messages
   * without a user message that has text, and for a `goal` if the strategy takes none.
   *
   * The token needs the right to `read`.
   */
  recall(question: string | Record<string, unknown> | Record<string, unknown>[], options?: Pick<RecallRequest, "limit" | "budget" | "where" | "as_of" | "known_at" | "strategy" | "rerank" | "include" | "goal" | "options">, call?: CallOptions): Promise<Recollection>;
  /**
   * Explain why `recall` with the same arguments does not return a memory, and what would return it.
   *
   * Of a long text the best chunk counts. This leaves no trace in the access log.
   *
   * The token needs the right to `read`.
   */
  whyNot(question: string | Record<string, unknown> | Record<string, unknown>[], id: string, options?: Pick<WhyNotRequest, "limit" | "budget" | "where" | "as_of" | "known_at" | "strategy" | "rerank" | "goal" | "options">, call?: CallOptions): Promise<WhyNot>;
  /**
   * Store which hits of a recollection were useful; returns the id of the feedback, which `forget` deletes.
   *
   * `used_ids` are the ids of the useful hits; an empty list says that no hit was useful.
   *
   * The used hits are logged as `USED` accesses, which strategies read. The question is stored with all its hits,
   * used or not, as an example for `ecphora learn`. A stored question is never recalled itself, and is deleted
   * with the first of its hits that is forgotten. Deleting it leaves the access log as it is. The same feedback
   * given twice is stored once; nothing is stored if none of the hits exists any more.
   *
   * Raises `InvalidInput` for an id that is not among the hits; then nothing is written.
   *
   * The token needs the right to `write`.
   */
  feedback(recollection: Recollection, used_ids: string[], call?: CallOptions): Promise<string>;
  /**
   * Store a response that was given to the question of a recollection; returns the id of the exchange.
   *
   * An exchange is the question with its response. It is no memory: it never counts as evidence, and a recall shows
   * it only with `include="exchanges"` (or among the hits of the strategy `eisa`).
   *
   * `used_ids` are the hits that the response rests on, such as those it cites. `context_ids` are further
   * memories that it may repeat, such as the message that it replies to. `source` names the model that gave it.
   *
   * A response may repeat what was shown for it. So the exchange is deleted with the first of its hits and of
   * `context_ids` that is forgotten or replaced, and with the earlier exchanges and the sources of the insights
   * returned with the hits. `forget` with its id deletes it, and the exchanges that it was shown for. The same
   * response recorded twice is stored once. Nothing is stored, and None is returned, if anything of the recollection
   * was forgotten or replaced since the recall, or this exchange forgotten.
   *
   * Raises `InvalidInput` for an empty text, and for an id in `used_ids` that is not among the hits.
   *
   * The token needs the right to `write`.
   */
  recordResponse(recollection: Recollection, text: string, options?: Pick<RecordResponseRequest, "used_ids" | "context_ids" | "source" | "session">, call?: CallOptions): Promise<string | null>;
  /**
   * Answer a question from the memories recalled for it, and cite them.
   *
   * `llm` is the language model that writes the answer. It is not asked if the evidence is `NONE`. Without a
   * model the best memory is quoted. `budget` bounds the tokens of the memories in the prompt; the other keywords
   * are the keywords of `recall`. What `include` names is shown to the model together with the memories.
   * `record` stores the answer of a model as `record_response` does; its id is `exchange_id` of the
   * result.
   *
   * The token needs the right to `read`.
   */
  answer(question: string | Record<string, unknown> | Record<string, unknown>[], options?: Pick<AnswerRequest, "budget" | "limit" | "where" | "as_of" | "known_at" | "strategy" | "rerank" | "include" | "goal" | "options" | "record">, call?: CallOptions): Promise<Answer>;
  /**
   * The memory with an id, a long text reassembled from its chunks; None if there is none.
   *
   * The token needs the right to `read`.
   */
  get(id: string, call?: CallOptions): Promise<Node | null>;
  /**
   * The chunks of a long text, in their order; a short text is its own only chunk. Empty for an unknown id.
   *
   * The token needs the right to `read`.
   */
  chunks(id: string, call?: CallOptions): Promise<Node[]>;
  /**
   * Memories that pass a filter, without a question, a page at a time; a long text is one memory.
   *
   * `order` is `"happened_at"` or `"recorded_at"`, with `-` for the latest first; memories of one time are
   * in the order of their ids. `after` takes `page.cursor` of the page before. A cursor stands for a place in
   * the order: what is written or forgotten meanwhile makes no later page skip a memory or show one twice.
   *
   * Raises `InvalidInput` for an order that does not exist, and for a cursor of another order.
   *
   * The token needs the right to `read`.
   */
  find(options?: Pick<FindRequest, "where" | "order" | "limit" | "after">, call?: CallOptions): Promise<Page>;
  /**
   * The number of memories that pass a filter; a long text is one.
   *
   * The token needs the right to `read`.
   */
  count(options?: Pick<CountRequest, "where">, call?: CallOptions): Promise<number>;
  /**
   * What a memory superseded, what superseded it, and its accesses; None if there is no such memory.
   *
   * The token needs the right to `read`.
   */
  history(id: string, call?: CallOptions): Promise<History | null>;
  /**
   * Give a memory another text or other metadata. `mode` says what becomes of the old one.
   *
   * `mode="supersede"` is for a fact that has changed: a new memory with the speaker, session, title, source,
   * metadata and trust of the old one supersedes it from `happened_at` on, by default from now on. The old one is
   * kept.
   *
   * `mode="replace"` is for a text that was wrong: the memory keeps its id, its times of event and validity, and
   * the memories that it supersedes or that supersede it. The old text is erased as by `forget`, with its
   * accesses and what was derived from it. Both are one commit.
   *
   * `metadata` takes the place of the old metadata, which stays by default. `restore` writes a text that was
   * forgotten or replaced before, with `mode="replace"`. `if_unchanged` is the memory as `get` returned
   * it: if it was replaced or forgotten since, in any process, `mode="replace"` raises `StaleWrite`.
   *
   * A text that the memory has already changes nothing, nor does a repeated update, nor a text that was forgotten or
   * replaced before: the result has it in `blocked`. Raises `InvalidInput` for an unknown id, and for a memory
   * that another memory supersedes already, so that not both are current; what consolidation found does not count.
   *
   * The token needs the right to `read` and `write`.
   */
  update(id: string, text: string, mode: "supersede" | "replace", options?: Pick<UpdateRequest, "happened_at" | "metadata" | "restore" | "if_unchanged">, call?: CallOptions): Promise<RememberResult>;
  /**
   * Erase memories: by id, all that match a filter, or with `everything` the whole scope.
   *
   * `dry_run` erases nothing and returns what would be erased. A chunk stands for its whole text.
   *
   * Their texts, vectors, terms, links and accesses are overwritten in the file, and so are the entities that
   * nothing else mentions. Tombstones keep the same memory from being remembered again, unless `restore` is set
   * then. Ids that do not exist are no error: the result says what was erased. A filter also selects the exchanges
   * of `record_response` that pass it.
   *
   * Raises `InvalidInput` for a filter without a condition, for `everything` together with ids or a filter, and
   * for the id of a name or a claim, which goes with the memories that it is read off.
   *
   * The token needs the right to `read` and `write`.
   */
  forget(options?: Pick<ForgetRequest, "ids" | "where" | "everything" | "dry_run">, call?: CallOptions): Promise<ForgetResult>;
  /**
   * The insights that consolidation derived from several memories: newest first, or nearest to a question first.
   *
   * An insight names its sources and never replaces a memory: `recall` returns memories only.
   *
   * The token needs the right to `read`.
   */
  insights(options?: Pick<InsightsRequest, "question" | "limit">, call?: CallOptions): Promise<Insight[]>;
  /**
   * Every scope of the file, sorted by name.
   *
   * The token needs the right to `read`.
   */
  scopes(call?: CallOptions): Promise<ScopeInfo[]>;
}

/** The methods of `memory.entities`. */
export interface EntitiesMethods {
  /**
   * State that two names mean one entity; `undo` reverts it. Consolidation does so where texts show it.
   *
   * Raises `InvalidInput` for a name that no memory mentions.
   *
   * The token needs the right to `read` and `write`.
   */
  merge(name: string, other: string, call?: CallOptions): Promise<UndoBatch>;
  /**
   * State that two names do not mean one entity, whatever consolidation found; `undo` reverts it.
   *
   * The token needs the right to `read` and `write`.
   */
  split(name: string, other: string, call?: CallOptions): Promise<UndoBatch>;
}

/** The methods of `memory.facts`. */
export interface FactsMethods {
  /**
   * The updates and contradictions that consolidation found, the latest memories first.
   *
   * `pending=True` lists the updates of which consolidation is not sure, with a confidence below .65. They change
   * neither validity nor order until `accept` is called for them.
   *
   * The token needs the right to `read`.
   */
  updates(options?: Pick<FactsUpdatesRequest, "pending" | "limit">, call?: CallOptions): Promise<FactUpdate[]>;
  /**
   * State that a pending update is one: from then on it counts as if it were certain; `undo` reverts it.
   *
   * Raises `InvalidInput` if consolidation found nothing between the two.
   *
   * The token needs the right to `read` and `write`.
   */
  accept(old: string, new_: string, call?: CallOptions): Promise<UndoBatch>;
  /**
   * State that a memory neither supersedes nor contradicts an older one; `undo` reverts it.
   *
   * Raises `InvalidInput` if consolidation found nothing between the two.
   *
   * The token needs the right to `read` and `write`.
   */
  reject(old: string, new_: string, call?: CallOptions): Promise<UndoBatch>;
}

/** The methods of `memory.maintenance`. */
export interface MaintenanceMethods {
  /**
   * Undo the latest undo batch: delete every row that it wrote, and what was derived from it since.
   *
   * An undo batch is what one consolidation, import, merge, split, accepted or rejected update wrote; the latest is
   * the batch that wrote last. `batches` lists them; `batch` may give the id of the latest. What
   * `remember`, `update`, `feedback` and marks wrote belongs to no batch and stays, and what `forget` erased
   * does not come back.
   *
   * Raises `InvalidInput` if there is no undo batch, or if `batch` is not the latest.
   *
   * The token needs the right to `read` and `write`.
   */
  undo(options?: Pick<MaintenanceUndoRequest, "batch">, call?: CallOptions): Promise<UndoBatch>;
  /**
   * The batches that `undo` can revert, oldest first.
   *
   * The token needs the right to `read`.
   */
  batches(call?: CallOptions): Promise<UndoBatch[]>;
  /**
   * Memories of low importance by use and age, not accessed for months; the least important first.
   *
   * Decay alone does not change their rank. `archive` ranks memories last, `pin` keeps them from decay.
   *
   * The token needs the right to `read`.
   */
  decayed(options?: Pick<MaintenanceDecayedRequest, "limit">, call?: CallOptions): Promise<Node[]>;
  /**
   * Keep memories from decay. Raises `InvalidInput` for an unknown id.
   *
   * The token needs the right to `read` and `write`.
   */
  pin(ids: string | string[], call?: CallOptions): Promise<unknown>;
  /**
   * Let memories decay again. Raises `InvalidInput` for an unknown id.
   *
   * The token needs the right to `read` and `write`.
   */
  unpin(ids: string | string[], call?: CallOptions): Promise<unknown>;
  /**
   * Rank memories after all others; they still come back if nothing else does.
   *
   * Raises `InvalidInput` for an unknown id.
   *
   * The token needs the right to `read` and `write`.
   */
  archive(ids: string | string[], call?: CallOptions): Promise<unknown>;
  /**
   * Rank memories among the others again. Raises `InvalidInput` for an unknown id.
   *
   * The token needs the right to `read` and `write`.
   */
  unarchive(ids: string | string[], call?: CallOptions): Promise<unknown>;
}
