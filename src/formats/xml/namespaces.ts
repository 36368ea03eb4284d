import { hasTextAt, sliceText, XmlUnreadable } from './text.ts';

/** Maximum number of declarations that apply at once; Office declares about forty. */
const MAX_SCOPES = 256;

/** Namespaces of prefixes at an offset in a part. Plain data. */
export interface Namespaces {
  /** Namespace of the part's root element, to which the part's own elements belong; null before the root. */
  own: string | null;
  /** The declared prefixes with their namespaces. */
  bound: { prefix: string; uri: string }[];
}

/** Declaration of a prefix, valid within its element. */
interface PrefixScope {
  prefix: string;
  uri: string;
  depth: number;
  isOwn: boolean;
}

/** Namespaces that the surrounding elements declare. A tag is in the part's own namespace, or in an extension's. */
export class NamespaceScopes {
  #ownNamespace: string | null;
  #defaultIsOwn = false;
  readonly #scopes: PrefixScope[];

  constructor({ own, bound }: Namespaces) {
    this.#ownNamespace = own;
    this.#scopes = bound.map((names) => ({ ...names, depth: Number.NEGATIVE_INFINITY, isOwn: names.uri === own }));
    this.#findDefault();
  }

  get names(): Namespaces {
    return { own: this.#ownNamespace, bound: this.#scopes.map(({ prefix, uri }) => ({ prefix, uri })) };
  }

  /** Returns the namespace of a prefix. An undeclared prefix stands for itself. */
  getNamespace(prefix: string): string {
    return this.#scopes.findLast((scope) => scope.prefix === prefix)?.uri ?? prefix;
  }

  /** Finds the namespace of a tag whose name begins at `nameStart`, after a prefix or none. */
  findNamespace(bytes: Uint8Array, prefixStart: number, nameStart: number): string {
    return this.getNamespace(sliceText(bytes, prefixStart, Math.max(prefixStart, nameStart - 1)));
  }

  /** Returns true if a tag is in the part's own namespace, which the first tag determines. */
  isInOwnNamespace(bytes: Uint8Array, prefixStart: number, nameStart: number): boolean {
    if (this.#ownNamespace === null) {
      this.#ownNamespace = this.findNamespace(bytes, prefixStart, nameStart);
      for (const scope of this.#scopes) scope.isOwn = scope.uri === this.#ownNamespace;
      this.#findDefault();
    }
    if (nameStart === prefixStart) return this.#defaultIsOwn;
    for (let index = this.#scopes.length - 1; index >= 0; index--) {
      const { prefix, isOwn } = this.#scopes[index] as PrefixScope;
      if (hasTextAt(bytes, prefixStart, nameStart - 1, prefix)) return isOwn;
    }
    return this.findNamespace(bytes, prefixStart, nameStart) === this.#ownNamespace;
  }

  /** Adds a declaration of an element. */
  addPrefix(prefix: string, uri: string, depth: number): void {
    this.#scopes.push({ prefix, uri, depth, isOwn: uri === this.#ownNamespace });
    if (this.#scopes.length > MAX_SCOPES) throw new XmlUnreadable('namespaces without end');
    this.#findDefault();
  }

  /** Removes the declarations of elements at a greater depth than `depth`, which are closed. */
  dropDeeperScopes(depth: number): void {
    const countBefore = this.#scopes.length;
    while ((this.#scopes.at(-1)?.depth ?? Number.NEGATIVE_INFINITY) > depth) this.#scopes.pop();
    if (this.#scopes.length < countBefore) this.#findDefault();
  }

  #findDefault(): void {
    this.#defaultIsOwn = this.getNamespace('') === this.#ownNamespace;
  }
}
