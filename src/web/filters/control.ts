/** A filter on the page. */
export interface Control {
  element: HTMLElement;
  /** Shows a value that came from elsewhere: a reset, an address, the parent of an embedded page. */
  set(value: unknown): void;
  /** Whether it must be filled before there is anything to see. */
  demand(missing: boolean): void;
}

/** Tells the page that the viewer chose a value. */
export type Choose = (value: unknown) => void;
