// A value that several parts of the page look at.

import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  private listeners = new Set<() => void>();

  constructor(private current: T) {}

  get value(): T {
    return this.current;
  }

  set value(next: T) {
    if (next === this.current) return;
    this.current = next;
    for (const listener of [...this.listeners]) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, again] = useState(0);
  const shown = store.value;
  useEffect(() => {
    const look = () => again((count) => count + 1);
    if (store.value !== shown) look(); // it has changed before anybody listened
    return store.subscribe(look);
  }, [store]);
  return shown;
}
