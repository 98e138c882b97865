/**
 * Stops calling a tool that keeps failing. After a number of failures in a row its circuit is open: calls fail at once. When the time is
 * over, one call is let through; if it succeeds, the circuit is closed again. Known to this process only.
 */

export interface CircuitBreakerOptions {
  /** Failures in a row that open the circuit; 5 by default. */
  failures?: number;
  /** How long it stays open before one call is let through; half a minute by default. */
  openMs?: number;
}

const defaults: Required<CircuitBreakerOptions> = { failures: 5, openMs: 30_000 };
/** Failing tools that are remembered; the oldest are forgotten first. */
const circuitsMax = 10_000;

/** The tool was not called, because it failed too often. */
export class CircuitOpen extends Error {
  override name = "CircuitOpen";
  readonly code = "tool_circuit_open";
  readonly retryAfterMs: number;

  constructor(tool: string, retryAfterMs: number) {
    super(
      `Tool ${tool} was not called: it failed too often in a row, and is tried again in ${Math.ceil(retryAfterMs / 1000)} s.`,
    );
    this.retryAfterMs = retryAfterMs;
  }
}

interface Circuit {
  failures: number;
  openUntil: number;
}

export interface CircuitChange {
  tool: string;
  tenantId: string;
  isOpen: boolean;
}

export interface Called {
  tool: string;
  tenantId: string;
  terms: CircuitBreakerOptions | false | undefined;
}

export class CircuitBreakers {
  readonly #now: () => number;
  readonly #onChange: (change: CircuitChange) => void;
  readonly #circuits = new Map<string, Circuit>();

  constructor(now: () => number, onChange: (change: CircuitChange) => void = () => {}) {
    this.#now = now;
    this.#onChange = onChange;
  }

  /** Throws `CircuitOpen`, or calls. `isFailure` says which errors are the tool's, as opposed to those of the call. */
  async call<T>(called: Called, isFailure: (error: unknown) => boolean, work: () => Promise<T>): Promise<T> {
    if (called.terms === false) return await work();
    const { failures, openMs } = { ...defaults, ...called.terms };
    this.#admit(called, failures, openMs);
    try {
      const output = await work();
      this.#succeeded(called);
      return output;
    } catch (error) {
      if (isFailure(error)) this.#failed(called, failures, openMs);
      else this.#succeeded(called);
      throw error;
    }
  }

  #admit(called: Called, failures: number, openMs: number): void {
    const circuit = this.#circuits.get(keyOf(called));
    if (circuit === undefined || circuit.failures < failures) return;
    const leftMs = circuit.openUntil - this.#now();
    if (leftMs > 0) throw new CircuitOpen(called.tool, leftMs);
    // This one call is let through; those beside it wait for what it comes to.
    circuit.openUntil = this.#now() + openMs;
  }

  #succeeded(called: Called): void {
    const circuit = this.#circuits.get(keyOf(called));
    if (circuit === undefined) return;
    this.#circuits.delete(keyOf(called));
    if (circuit.openUntil > 0)
      this.#onChange({ tool: called.tool, tenantId: called.tenantId, isOpen: false });
  }

  #failed(called: Called, failures: number, openMs: number): void {
    const key = keyOf(called);
    const circuit = this.#circuits.get(key) ?? { failures: 0, openUntil: 0 };
    circuit.failures += 1;
    if (circuit.failures >= failures) {
      if (circuit.openUntil === 0)
        this.#onChange({ tool: called.tool, tenantId: called.tenantId, isOpen: true });
      circuit.openUntil = this.#now() + openMs;
    }
    this.#circuits.set(key, circuit);
    const oldest = this.#circuits.size > circuitsMax ? this.#circuits.keys().next().value : undefined;
    if (oldest !== undefined) this.#circuits.delete(oldest);
  }
}

function keyOf({ tenantId, tool }: Called): string {
  return `${tenantId} ${tool}`;
}
