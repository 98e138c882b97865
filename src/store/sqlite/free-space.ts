/**
 * A floor of free disk space: below it nothing that adds data is taken, so that deletions and the results of work under way still find
 * room. The floor is a number of bytes or a share of the disk, whichever is smaller.
 */

import { statfsSync } from "node:fs";
import { failPoint } from "../fail-point.ts";
import { diskFaultOf, type Shortage } from "../port.ts";

export interface DiskFloor {
  bytes: number;
  /** Of the size of the disk, from 0 to 1. */
  share: number;
}

export const diskFloorDefault: DiskFloor = { bytes: 256 * 1024 * 1024, share: 0.01 };

const lookEveryMs = 1000;

export function spaceAt(directory: string, floor: DiskFloor): Shortage {
  const { bavail, blocks, bsize } = statfsSync(directory);
  return {
    freeBytes: bavail * bsize,
    floorBytes: Math.min(floor.bytes, Math.floor(floor.share * blocks * bsize)),
  };
}

/** Looks at the disk at most once a second. */
export class FreeSpace {
  readonly #directory: string;
  readonly #floor: DiskFloor;
  #shortage: Shortage | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(directory: string, floor: DiskFloor) {
    this.#directory = directory;
    this.#floor = floor;
  }

  shortage(): Shortage | null {
    const now = performance.now();
    if (now - this.#lookedAt >= lookEveryMs) {
      this.#lookedAt = now;
      this.#shortage = this.#look();
    }
    return this.#shortage;
  }

  #look(): Shortage | null {
    try {
      const space = spaceAt(this.#directory, this.#floor);
      failPoint("disk.free");
      return space.freeBytes < space.floorBytes ? space : null;
    } catch (error) {
      // A disk that fails has no room. For any other error the next write tells.
      return diskFaultOf(error) === null ? null : { freeBytes: 0, floorBytes: this.#floor.bytes };
    }
  }
}
