/** There is a partition for every position before it is written to. */

import type { Position } from "../port.ts";
import { connect, type DatabasePlace } from "./connect.ts";
import { makePartitions } from "./migrate.ts";

/** Positions for which there is room before they are needed. */
const roomPositions = 1_000_000;

export class Room {
  readonly #place: DatabasePlace;
  #through: Position = -1;

  constructor(place: DatabasePlace) {
    this.#place = place;
  }

  async makeAfter(position: Position): Promise<void> {
    if (position + roomPositions <= this.#through) return;
    const client = await connect(this.#place);
    try {
      const range = { from: position, through: position + 2 * roomPositions };
      this.#through = await makePartitions(client, this.#place.schema, range);
    } finally {
      await client.end();
    }
  }
}
