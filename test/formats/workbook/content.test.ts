import { expect, it } from 'vitest';
import { detectContent } from '../../../src/formats/workbook/content.ts';

const SPREADSHEET_NAMESPACE = 'urn:schemas-microsoft-com:office:spreadsheet';

it.each([
  ['html', '<html><body><table>'],
  ['html', '\ufeff\r\n <!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01//EN">\n<!-- x > y --><HTML xmlns:x="urn:x">'],
  ['html', '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'],
  ['html', '<table border=1><tr>'],
  ['html', '<meta charset="utf-8"><style>td{}</style><table>'],
  [
    'sheets',
    `<?xml version="1.0"?>\n<?mso-application progid="Excel.Sheet"?>\n<Workbook xmlns="${SPREADSHEET_NAMESPACE}">`,
  ],
  ['sheets', `<ss:Workbook xmlns:ss="${SPREADSHEET_NAMESPACE}">`],
  ['xml', '<?xml version="1.0" encoding="utf-8"?><nfeProc><NFe>'],
  ['xml', '<Workbook><Worksheet>'],
  ['xml', '<root>\n  <row>'],
  ['xml', '<feed xmlns="http://www.w3.org/2005/Atom">'],
  ['json', '[{"id": 1}]'],
  ['json', '\n{ "data": []'],
  ['json', '{"id":1}\n{"id":2}\n'],
  ['json', '[["a","b"],["c","d"]]'],
  [
    'mhtml',
    'MIME-Version: 1.0\r\nX-Document-Type: Workbook\r\nContent-Type: multipart/related; boundary="--=_1"\r\n\r\n',
  ],
  ['mhtml', 'From: <Saved by Blink>\nMIME-Version: 1.0\nContent-Type: multipart/related;\n\ttype="text/html"\n\n\n--x'],
  ['text', 'MIME-Version: 1.0;Content-Type: multipart/related\na: b;c: d\n\n'],
  ['text', 'MIME-Version: 1.0\nContent-Type: text/csv\n\na,b\n'],
  ['text', 'nome;valor\n<b>;1\n'],
  ['text', '<DATE>\t<TIME>\t<OPEN>\n2024.01.31\t10:00\t1\n'],
  ['text', '<TICKER>,<PER>,<DATE>\nX,D,20240131\n'],
  ['text', '[id],[nome]\n1,Ana\n'],
  ['text', '{id},{nome}\n1,Ana\n'],
  ['text', '"a <html>",b\n'],
  ['text', '<>\n'],
  ['text', 'Rio\u0002 Branco;2\n'],
  ['text', ''],
])('a file is recognized as %s that begins with %j, in any encoding', (content, text) => {
  expect(detectContent(new TextEncoder().encode(text))).toBe(content);
  const textWithByteOrderMark = `\ufeff${text.replace(/^\ufeff/, '')}`;
  const codeUnits = Uint16Array.from({ length: textWithByteOrderMark.length }, (_, at) =>
    textWithByteOrderMark.charCodeAt(at),
  );
  expect(detectContent(new Uint8Array(codeUnits.buffer))).toBe(content);
});
