/** The form control of a filter. */
export interface Control {
  element: HTMLElement;
  /** Sets a value that comes from elsewhere: a reset, the address, or the page around an embedded one. */
  set(value: unknown): void;
  /** Marks the control as required but empty. */
  demand(missing: boolean): void;
}

/** Called when the viewer chose a value. */
export type Choose = (value: unknown) => void;
