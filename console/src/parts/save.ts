/** Bytes as a file of the reader's, never opened by the browser. */

export function saveBytes(name: string, bytes: BlobPart): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
