import { useEffect } from "react";
import { text } from "../text.ts";

export function useTitle(page: string): void {
  useEffect(() => {
    document.title = text.titleOf(page);
  }, [page]);
}
