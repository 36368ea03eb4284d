import { isText, sliceText, XmlUnreadable } from './text.ts';

/** Office declares about forty. */
const MAX_SCOPES = 256;

/** The namespaces of prefixes at a place in a part: plain data. */
export interface Namespaces {
  /** The namespace of the part's root element, to which the part's own elements belong; null before the root. */
  own: string | null;
  bound: { prefix: string; uri: string }[];
}

/** The declaration of a prefix, valid within the element that has it. */
interface Scope {
  prefix: string;
  uri: string;
  depth: number;
  isOwn: boolean;
}

/** The namespaces that the elements around a place declare. A tag is in the part's own, or in an extension's. */
export class Scopes {
  #own: string | null;
  #defaultIsOwn = false;
  readonly #scopes: Scope[];

  constructor({ own, bound }: Namespaces) {
    this.#own = own;
    this.#scopes = bound.map((names) => ({ ...names, depth: Number.NEGATIVE_INFINITY, isOwn: names.uri === own }));
    this.#findDefault();
  }

  get names(): Namespaces {
    return { own: this.#own, bound: this.#scopes.map(({ prefix, uri }) => ({ prefix, uri })) };
  }

  /** The namespace of a prefix. An undeclared prefix stands for itself. */
  meaning(prefix: string): string {
    return this.#scopes.findLast((scope) => scope.prefix === prefix)?.uri ?? prefix;
  }

  /** The namespace of a tag whose name begins at `nameStart`, after a prefix or none. */
  findNamespace(bytes: Uint8Array, prefixStart: number, nameStart: number): string {
    return this.meaning(sliceText(bytes, prefixStart, Math.max(prefixStart, nameStart - 1)));
  }

  /** Whether a tag is in the part's own namespace, which the first tag names. */
  isOwn(bytes: Uint8Array, prefixStart: number, nameStart: number): boolean {
    if (this.#own === null) {
      this.#own = this.findNamespace(bytes, prefixStart, nameStart);
      for (const scope of this.#scopes) scope.isOwn = scope.uri === this.#own;
      this.#findDefault();
    }
    if (nameStart === prefixStart) return this.#defaultIsOwn;
    for (let index = this.#scopes.length - 1; index >= 0; index--) {
      const { prefix, isOwn } = this.#scopes[index] as Scope;
      if (isText(bytes, prefixStart, nameStart - 1, prefix)) return isOwn;
    }
    return this.findNamespace(bytes, prefixStart, nameStart) === this.#own;
  }

  /** Adds the declaration of an element. */
  declare(prefix: string, uri: string, depth: number): void {
    this.#scopes.push({ prefix, uri, depth, isOwn: uri === this.#own });
    if (this.#scopes.length > MAX_SCOPES) throw new XmlUnreadable('namespaces without end');
    this.#findDefault();
  }

  /** Removes the declarations of elements that lie deeper than this: they are closed. */
  leave(depth: number): void {
    const before = this.#scopes.length;
    while ((this.#scopes.at(-1)?.depth ?? Number.NEGATIVE_INFINITY) > depth) this.#scopes.pop();
    if (this.#scopes.length < before) this.#findDefault();
  }

  #findDefault(): void {
    this.#defaultIsOwn = this.meaning('') === this.#own;
  }
}
