/**
 * The input of a model call as it is recorded: messages that an earlier step of the task had already are named, not said again
 * (see `InputPiece`). A conversation is sent whole with every call; so it costs its length in the log, not its square.
 */

import type { Unit } from "../../kernel/core/unit.ts";
import type { InputPiece } from "../../kernel/kinds/model-call.ts";
import type { ModelMessage } from "../../models/messages.ts";
import { hashOf } from "../../receipts/canonical.ts";
import type { Run } from "../run/run.ts";

/** Where a message stands among those that a step has. */
interface Place {
  step: string;
  index: number;
}

/** The messages that steps of a run have, by their hash: the place where each was last. */
export class KnownMessages {
  readonly #places = new Map<string, Place>();
  #last: { step: string; hashes: readonly string[] } = { step: "", hashes: [] };

  /** From here on they can be named by the step. */
  learn(step: string, hashes: readonly string[]): void {
    for (const [index, hash] of hashes.entries()) this.#places.set(hash, { step, index });
    this.#last = { step, hashes };
  }

  /** The place after another one, or the first one, if it is there: what is said twice does not tear a range apart. */
  find(hash: string, before: Place | null): Place | undefined {
    const { step, hashes } = this.#last;
    const index = before === null ? 0 : before.index + 1;
    const isNext = (before === null || before.step === step) && hashes[index] === hash;
    return isNext ? { step, index } : this.#places.get(hash);
  }
}

export interface Piece {
  /** How many messages it stands for. */
  count: number;
  of: Place | null;
  message: ModelMessage | null;
}

/** What is said for the first time, and what is named. */
export function piecesOf(
  messages: readonly ModelMessage[],
  hashes: readonly string[],
  known: KnownMessages,
): Piece[] {
  const pieces: Piece[] = [];
  for (const [at, message] of messages.entries()) {
    const last = pieces.at(-1);
    const before = last?.of == null ? null : { step: last.of.step, index: last.of.index + last.count - 1 };
    const place = known.find(hashes[at] ?? "", before) ?? null;
    if (place === null) pieces.push({ count: 1, of: null, message });
    else if (last?.of?.step === place.step && last.of.index + last.count === place.index) last.count += 1;
    else pieces.push({ count: 1, of: place, message: null });
  }
  return pieces;
}

export function sealPieces(unit: Unit, pieces: readonly Piece[]): InputPiece[] {
  return pieces.map(({ count, of, message }) =>
    of === null ? { content: unit.seal(message) } : { of_step: of.step, first: of.index, count },
  );
}

const knownOf = new WeakMap<Run, KnownMessages>();

/** Those of a run; they go with it. */
export function knownMessages(run: Run): KnownMessages {
  const known = knownOf.get(run) ?? new KnownMessages();
  knownOf.set(run, known);
  return known;
}

/** Messages are copied once and sent many times; the hash of each is made once. */
const hashes = new WeakMap<ModelMessage, string>();

export function messageHash(message: ModelMessage): string {
  const hash = hashes.get(message) ?? hashOf(message);
  hashes.set(message, hash);
  return hash;
}
