/** The parts of the package's types that are used here. */
export interface XmlNode {
  readonly nodeType: number;
  readonly textContent: string | null;
}

export interface XmlElement extends XmlNode {
  readonly localName: string;
  readonly namespaceURI: string | null;
  readonly childNodes: ArrayLike<XmlNode>;
  readonly attributes: ArrayLike<{ readonly localName: string; readonly value: string }>;
  hasAttribute(name: string): boolean;
  getAttribute(name: string): string;
  /** All elements below this one. */
  getElementsByTagName(name: '*'): ArrayLike<XmlElement>;
}

type Complain = (message: string) => void;

export class DOMParser {
  constructor(options: { errorHandler: { warning: Complain; error: Complain; fatalError: Complain } });
  parseFromString(xml: string, mediaType: 'text/xml'): { documentElement: XmlElement | null } | undefined;
}
