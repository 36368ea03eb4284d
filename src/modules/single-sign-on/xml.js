// Passed on here, so that only this module sees the package's types: they bring a browser's globals into the whole project.
export { DOMParser } from '@xmldom/xmldom';
