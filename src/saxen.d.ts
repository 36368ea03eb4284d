/** The part of saxen that we use; the package has no types of its own. */
declare module 'saxen' {
  export class Parser {
    on(event: 'openTag' | 'closeTag', handle: (element: string) => void): this;
    on(event: 'text', handle: (text: string, decodeEntities: (text: string) => string) => void): this;
    on(event: 'error', handle: (error: Error) => void): this;
    parse(xml: string): this;
  }
}
