/** The keys of an approver, which stay in this browser: they can be used and not read, and are kept where only this origin is. */

import { type ApproverKeys, generateApproverKeys } from "bridle/approver";

const database = "bridle-approver";
const store = "keys";

/** What is kept for an approver. */
export interface Device {
  keys: ApproverKeys;
  /** Whether the public keys were handed over. Whether they count is for the operator to say. */
  isPaired: boolean;
}

async function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(database, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(store);
  return await settled(request);
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function inStore<T>(
  mode: IDBTransactionMode,
  act: (keys: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
  const found = await open();
  try {
    return await settled(act(found.transaction(store, mode).objectStore(store)));
  } finally {
    found.close();
  }
}

export async function loadDevice(approverId: string): Promise<Device | null> {
  // Nobody but this file writes there.
  return ((await inStore("readonly", (keys) => keys.get(approverId))) as Device | undefined) ?? null;
}

export async function createDevice(approverId: string): Promise<Device> {
  const keys = await generateApproverKeys(new Date(), { isExtractable: false });
  return await saveDevice(approverId, { keys, isPaired: false });
}

export async function saveDevice(approverId: string, device: Device): Promise<Device> {
  await inStore("readwrite", (keys) => keys.put(device, approverId));
  return device;
}

export async function forgetDevice(approverId: string): Promise<void> {
  await inStore("readwrite", (keys) => keys.delete(approverId));
}
