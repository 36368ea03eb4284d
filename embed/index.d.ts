/** Values of filters by slug: a text, a number, a list of them, `{ from, to }` for a range; null for none. */
export type ParameterValues = Record<string, unknown>;

/** The detail of `data-console:click`: the point that the viewer chose. */
export interface ClickDetail {
  visualization: { id: string; name: string };
  /** Values by column of the result. */
  values: Record<string, string | number | boolean | null>;
}

export interface ErrorDetail {
  /** `BAD_SRC`, `NO_TOKEN`, `NOT_LOADED`, `TOKEN_FAILED`, `TOKEN_REFUSED`, or what the API says, such as `TOKEN_INVALID`. */
  code: string;
  /** The message in English, for developers. */
  message: string;
  /** Seconds until it is tried again. */
  retryIn?: number;
}

export interface DataConsoleEmbedEventMap {
  'data-console:ready': CustomEvent<{ name: string; parameters: ParameterValues }>;
  'data-console:error': CustomEvent<ErrorDetail>;
  'data-console:parameters': CustomEvent<{ parameters: ParameterValues }>;
  'data-console:click': CustomEvent<ClickDetail>;
  'data-console:height': CustomEvent<{ height: number }>;
}

/** `<data-console-embed src token-endpoint locale theme title>`. */
export class DataConsoleEmbed extends HTMLElement {
  /** The values of the filters, as the viewer or `setParameters` set them. A copy. */
  readonly parameters: ParameterValues;
  /** Sets values of the filters that the token allows; null removes one. */
  setParameters(values: ParameterValues): void;
  /** Gives a token in the place of `token-endpoint`. An error that it throws is taken to pass: it is asked again. */
  getToken: (() => Promise<string>) | null;
  addEventListener<Type extends keyof DataConsoleEmbedEventMap>(
    type: Type,
    listener: (event: DataConsoleEmbedEventMap[Type]) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'data-console-embed': DataConsoleEmbed;
  }
  interface HTMLElementEventMap extends DataConsoleEmbedEventMap {}
}
