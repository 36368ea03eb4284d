// Exported again with types of its own (xml.d.ts): the package's types add the globals of browsers to the whole project.
export { DOMParser } from '@xmldom/xmldom';
