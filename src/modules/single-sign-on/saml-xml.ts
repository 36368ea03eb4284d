import { DOMParser, type XmlElement, type XmlNode } from './xml.js';

export type { XmlElement };

export const PROTOCOL_NAMESPACE = 'urn:oasis:names:tc:SAML:2.0:protocol';
export const ASSERTION_NAMESPACE = 'urn:oasis:names:tc:SAML:2.0:assertion';

const ELEMENT_NODE = 1;

/**
 * Parses a document with the parser that also verifies signatures, so that both read the same content. That parser repairs
 * malformed documents; here they are rejected. @throws Error when the document is not well-formed
 */
export function parseXml(xml: string): XmlElement {
  const throwParseError = (message: string) => {
    throw new Error(`The XML is not well-formed: ${message}`);
  };
  const parser = new DOMParser({
    errorHandler: { warning: throwParseError, error: throwParseError, fatalError: throwParseError },
  });
  const root = parser.parseFromString(xml, 'text/xml')?.documentElement;
  if (!root) throw new Error('The XML has no root element.');
  return root;
}

const isElement = (node: XmlNode): node is XmlElement => node.nodeType === ELEMENT_NODE;

export const listChildElements = (element: XmlElement): XmlElement[] =>
  Array.from(element.childNodes).filter(isElement);

export const isNamed = (element: XmlElement, namespace: string, name: string): boolean =>
  element.namespaceURI === namespace && element.localName === name;

export const listChildrenNamed = (element: XmlElement, namespace: string, name: string): XmlElement[] =>
  listChildElements(element).filter((child) => isNamed(child, namespace, name));

/** Returns the only child of this name. @throws Error when there are none or several */
export function requireOnlyChild(element: XmlElement, namespace: string, name: string): XmlElement {
  const [child, ...others] = listChildrenNamed(element, namespace, name);
  if (!child || others.length > 0) throw new Error(`There is not exactly one ${name} in the ${element.localName}.`);
  return child;
}

/** Reads the text of an element. @throws Error when it has child elements */
export function readText(element: XmlElement): string {
  if (listChildElements(element).length > 0) throw new Error(`The ${element.localName} holds more than text.`);
  return (element.textContent ?? '').trim();
}

/** Reads an attribute; null when it is missing. */
export const readAttribute = (element: XmlElement, name: string): string | null =>
  element.hasAttribute(name) ? element.getAttribute(name) : null;
