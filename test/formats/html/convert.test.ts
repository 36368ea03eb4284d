import { describe, expect, it } from 'vitest';
import { convertHtml, HtmlUnreadable } from '../../../src/formats/html/convert.ts';
import type { SheetOutput } from '../../../src/formats/workbook/choice.ts';
import { WorkbookTooLarge } from '../../../src/formats/workbook/limits.ts';

function createMemorySheet(): SheetOutput<string> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  return {
    write: async (text) => void pieces.push(text.slice()),
    end: () => new Blob(pieces).text(),
  };
}

const convertPage = (page: string | Uint8Array) => {
  const bytes = typeof page === 'string' ? new TextEncoder().encode(page) : page;
  return convertHtml({
    size: bytes.length,
    read: async (offset, length) => bytes.subarray(offset, offset + length),
    beginText: createMemorySheet,
  });
};
const convertToText = async (page: string | Uint8Array) => (await convertPage(page))?.text;

const ROWS_HTML = '<tr><th>nome</th><th>valor</th></tr><tr><td>Ana</td><td>1</td></tr>';
const ROWS_CSV = '"nome","valor"\n"Ana","1"\n';

describe('an HTML page that is uploaded as a table', () => {
  it.each([
    [
      'as programs write it',
      `<html><head><title>x</title></head><body><table border="1">${ROWS_HTML}</table></body></html>`,
    ],
    ['in capital letters, without closing tags', '<TABLE><TR><TH>nome<TH>valor<TR><TD>Ana<TD>1</TABLE>'],
    [
      'with sections and layout',
      `<table>\n <thead>\n${ROWS_HTML.replace('</tr>', '</tr>\n</thead>\n<tbody>\n')}</tbody></table>`,
    ],
    ['never closed', `<table>${ROWS_HTML}`],
    ['behind a table of one row', `<table><tr><td>Relatório</td></tr></table><table>${ROWS_HTML}</table>`],
    [
      'behind a table of empty rows',
      `<table><tr><td>&nbsp;</td></tr><tr><td> </td></tr></table><table>${ROWS_HTML}</table>`,
    ],
    ['within a table for layout', `<table><tr><td><table>${ROWS_HTML}</table></td></tr></table>`],
    ['before another table', `<table>${ROWS_HTML}</table><table><tr><td>x</td></tr><tr><td>y</td></tr></table>`],
  ])('is read from its first table with two rows, %s', async (_, page) => {
    expect(await convertToText(page)).toBe(ROWS_CSV);
  });

  it('is converted to the texts that a reader of the page sees', async () => {
    const cells = [
      ' a\n  b ',
      'x<br>y<p>z</p>',
      '<b>Jo&atilde;o</b> &amp; &lt;b&gt; &#39;&#x20ac;&#128;&unknown; AT&T',
      '<script>if (a < b) "<td>"</script>1&nbsp;234<style>td{}</style>',
      'a"b',
      '<table><tr><td>c</td><td>d</td></tr></table>e',
    ];
    expect(
      await convertToText(
        `<table><tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr><tr><td>x</td></tr></table>`,
      ),
    ).toBe('"a b","x\ny\nz","João & <b> \'€€&unknown; AT&T","1 234","a""b","c d\ne"\n"x",,,,,\n');
  });

  it('is read with a cell of 800,000 spaces, in time that does not grow with their square', async () => {
    const spaces = '\u00a0'.repeat(400_000);
    const text = await convertToText(`<table><tr><td>a${spaces}b${spaces}<br>c</td></tr><tr><td>x</td></tr></table>`);
    expect(text === `"a${' '.repeat(400_000)}b\nc"\n"x"\n`).toBe(true);
  }, 30_000);

  it('has merged header cells joined to names, merged texts repeated below, and merged numbers only in their first cell', async () => {
    const page = `<table><tr><th rowspan="2">Cliente</th><th colspan="2">2023</th></tr><tr><th>Jan</th><th>Fev</th></tr>
      <tr><td rowspan="2">Ana</td><td rowspan=2>1</td><td>2</td></tr><tr><td>3</td></tr></table>`;
    const converted = await convertPage(page);
    expect(converted).toEqual({
      text: '\n"Cliente","2023 Jan","2023 Fev"\n"Ana","1","2"\n"Ana",,"3"\n',
      sheet: { name: null, width: 3, header: 2 },
    });
  });

  it('has merged texts repeated below although they could be booleans or telephones, but no numbers and dates', async () => {
    const convertMergedCells = async (value: string) => {
      const rows = `<tr><td rowspan=2>${value}</td><td>x</td></tr><tr><td>y</td></tr>`;
      const text = await convertToText(`<table><tr><td>a</td><td>b</td></tr>${rows}</table>`);
      return text?.split('\n').slice(1, 3);
    };
    for (const text of 'M F S N V T Y Sim Não true Falso A1 007 +5584999990000'.split(' '))
      expect(await convertMergedCells(text)).toEqual([`"${text}","x"`, `"${text}","y"`]);
    for (const text of ['1', '1.234,56', '-7', '31/01/2024'])
      expect(await convertMergedCells(text)).toEqual([`"${text}","x"`, ',"y"']);
  });

  it('is read in the encoding that it declares or was saved in', async () => {
    const table = '<table><tr><td>Ação</td></tr><tr><td>São</td></tr></table>';
    const encodeLatin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
    const utf16Page = new Uint8Array(Uint16Array.from(`\ufeff${table}`, (character) => character.charCodeAt(0)).buffer);
    const text = '"Ação"\n"São"\n';
    expect(await convertToText(`<meta charset="utf-8">${table}`)).toBe(text);
    expect(
      await convertToText(
        encodeLatin1(`<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">${table}`),
      ),
    ).toBe(text);
    expect(await convertToText(encodeLatin1(table))).toBe(text);
    expect(await convertToText(encodeLatin1(`<meta charset=utf-8>${table}`))).toBe(text);
    expect(await convertToText(utf16Page)).toBe(text);
    await expect(convertPage(`<meta charset="x-nada">${table}`)).rejects.toThrow(HtmlUnreadable);
  });

  it('gives no rows without a table of two rows, and is refused without any table', async () => {
    expect(await convertPage('<table><tr><td>Relatório</td></tr></table>')).toBeNull();
    await expect(convertPage('<html><body><h1>Sessão expirada</h1></body></html>')).rejects.toThrow(HtmlUnreadable);
  });

  it('is limited in memory, however many cells, levels or spans it has', async () => {
    const row = '<tr><td colspan="1000000" rowspan="1000000">a</td><td>b</td></tr>';
    const converted = await convertPage(`<table>${row}${row.replaceAll('colspan', 'x')}</table>`);
    expect(converted?.sheet.width).toBe(1002);
    const rows = '<tr><td rowspan=65534>a</td></tr>';
    await expect(convertPage(`<table>${rows.repeat(2_100)}</table>`)).rejects.toThrow(WorkbookTooLarge);
    await expect(
      convertPage(`<table><tr>${'<td colspan=1000>a</td>'.repeat(3)}</tr><tr><td>b</td></tr></table>`),
    ).rejects.toThrow(WorkbookTooLarge);
    await expect(
      convertPage(`<table><tr><td>${'x'.repeat(1_100_000)}</td></tr><tr><td>b</td></tr></table>`),
    ).rejects.toThrow(WorkbookTooLarge);
    await expect(convertPage(`${'<div>'.repeat(200_000)}<table>${ROWS_HTML}</table>`)).rejects.toThrow(HtmlUnreadable);
    await expect(convertPage(`${'<table><tr><td>'.repeat(200)}x`)).rejects.toThrow(HtmlUnreadable);
    const entities = `<table><tr><td>a</td></tr><tr><td>${'&amp;'.repeat(200_000)}</td></tr></table>`;
    expect((await convertToText(entities))?.length).toBe('"a"\n""\n'.length + 200_000);
  });
});
