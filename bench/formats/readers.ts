import { createReadStream, openSync, readSync, writeFileSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import * as sheetJs from '@e965/xlsx';
import { Unzip, UnzipInflate } from 'fflate';
import Papa from 'papaparse';
import { PNG } from 'pngjs';
import readExcelFile from 'read-excel-file/node';
import { createFields, scanRecords } from '../../src/formats/csv/records.ts';
import { readImage } from '../../src/formats/image/read.ts';
import { convertBiff } from '../../src/formats/workbook/biff.ts';
import { openWorkbook } from '../../src/formats/workbook/parts.ts';
import { beginSheet, convertRows } from '../../src/formats/workbook/sheet.ts';
import { CUT_TOKEN, OPEN_TAG, XmlReader } from '../../src/formats/xml/reader.ts';
import { readDirectory } from '../../src/formats/zip/directory.ts';
import { unpackZipEntry, type ZipSource } from '../../src/formats/zip/unpack.ts';

/** XML parser of @xmldom/xmldom, loaded without its types: these would declare browser types for all files. */
const { DOMParser } = createRequire(import.meta.url)('@xmldom/xmldom');

const BLOCK_BYTES = 4 * 1024 * 1024;

/** Function that reads a file and returns the file's count of rows, elements or bytes. */
type Reader = (path: string, size: number) => number | Promise<number>;

/** Opens a file as a source of byte ranges, like an object in R2. */
function openZipAt(path: string): ZipSource {
  const file = openSync(path, 'r');
  return {
    async read(offset, length) {
      const bytes = new Uint8Array(length);
      return bytes.subarray(0, readSync(file, bytes, { length, position: offset }));
    },
    stream: (start, length) =>
      Readable.toWeb(
        createReadStream(path, { start, end: start + length - 1 }),
      ) as unknown as ReadableStream<Uint8Array>,
  };
}

async function readCsv(path: string, size: number): Promise<number> {
  const { read } = openZipAt(path);
  const fields = createFields();
  const dialect = { delimiter: ',', quote: '"', escape: 'doubled', spaceBeforeQuote: false } as const;
  let rows = -1;
  for (let at = 0; at < size; ) {
    const block = await read(at, BLOCK_BYTES);
    at += scanRecords(block, 0, at + block.length >= size, dialect, 1, fields, () => {
      rows++;
    }).endIndex;
  }
  return rows;
}

async function readCsvWithPapaparse(path: string): Promise<number> {
  let rows = -1;
  const stream = createReadStream(path, { encoding: 'utf8', highWaterMark: BLOCK_BYTES });
  return new Promise((resolve, reject) => {
    Papa.parse(stream, {
      skipEmptyLines: true,
      step: () => {
        rows++;
      },
      complete: () => resolve(rows),
      error: reject,
    });
  });
}

/** Converts like an upload: unpacks the sheet's XML to storage, then reads and converts it block by block. */
async function readXlsx(path: string, size: number): Promise<number> {
  const zip = openZipAt(path);
  const workbook = await openWorkbook(zip, size, async () => {});
  const entry = workbook.sheets[0]?.entry;
  if (!entry) throw new Error('a workbook without a sheet');
  const xmlFile = `${path}.xml`;
  writeFileSync(xmlFile, '');
  const file = openSync(xmlFile, 'a');
  await unpackZipEntry(zip, entry, (bytes) => {
    writeSync(file, bytes);
  });
  const { read } = openZipAt(xmlFile);
  let state = beginSheet(0);
  while (!state.done) {
    const block = await read(state.offset, BLOCK_BYTES);
    const isLast = state.offset + block.length >= entry.size;
    state = convertRows(workbook, { headerMerges: [], lastRowsByCell: new Map() }, state, block, isLast).state;
  }
  return state.filled - 1;
}

async function readXlsxWithPackage(path: string): Promise<number> {
  const [sheet] = await readExcelFile(await readFile(path));
  return (sheet?.data.length ?? 0) - 1;
}

async function readXls(path: string, size: number): Promise<number> {
  let rows = -1;
  await convertBiff({
    size,
    read: openZipAt(path).read,
    beginText: () => ({
      async write(text) {
        for (let at = text.indexOf(10); at >= 0; at = text.indexOf(10, at + 1)) rows++;
      },
      end: async () => undefined,
    }),
    reserveMemory: async () => undefined,
  });
  return rows;
}

async function readXlsWithE965(path: string): Promise<number> {
  const { Sheets, SheetNames } = sheetJs.read(await readFile(path));
  const text = sheetJs.utils.sheet_to_csv(Sheets[SheetNames[0] as string] as object);
  return text.trimEnd().split('\n').length - 1;
}

async function readZip(path: string, size: number): Promise<number> {
  const zip = openZipAt(path);
  let unpackedBytes = 0;
  for (const entry of await readDirectory(zip.read, size)) {
    await unpackZipEntry(zip, entry, (piece) => {
      unpackedBytes += piece.length;
    });
  }
  return unpackedBytes;
}

async function readZipWithFflate(path: string): Promise<number> {
  let unpackedBytes = 0;
  const unzip = new Unzip((file) => {
    file.ondata = (error, piece) => {
      if (error) throw error;
      unpackedBytes += piece.length;
    };
    file.start();
  });
  unzip.register(UnzipInflate);
  for await (const piece of createReadStream(path, { highWaterMark: 256 * 1024 })) unzip.push(piece);
  unzip.push(new Uint8Array(), true);
  return unpackedBytes;
}

async function readXml(path: string): Promise<number> {
  const reader = new XmlReader(await readFile(path));
  let cellCount = 0;
  for (let token = reader.readNextToken(); token !== CUT_TOKEN; token = reader.readNextToken())
    if (token === OPEN_TAG && reader.isElement('c')) cellCount++;
  return cellCount;
}

async function readXmlWithXmldom(path: string): Promise<number> {
  const document = new DOMParser().parseFromString(await readFile(path, 'utf8'), 'text/xml');
  return document.getElementsByTagName('c').length;
}

/** Checks a PNG, and keeps only the chunks that draw the picture. */
async function readPng(path: string): Promise<number> {
  const { width, height } = await readImage(new Uint8Array(await readFile(path)));
  return width * height;
}

async function readPngWithPngjs(path: string): Promise<number> {
  const { width, height } = PNG.sync.read(await readFile(path));
  return width * height;
}

/** Readers of this project, and of the packages that one would use instead, by name. */
export const READERS: Record<string, Reader> = {
  'csv own': readCsv,
  'csv papaparse': readCsvWithPapaparse,
  'xlsx own': readXlsx,
  'xlsx read-excel-file': readXlsxWithPackage,
  'xls own': readXls,
  'xls @e965/xlsx': readXlsWithE965,
  'zip own': readZip,
  'zip fflate': readZipWithFflate,
  'xml own': readXml,
  'xml @xmldom/xmldom': readXmlWithXmldom,
  'png own': readPng,
  'png pngjs': readPngWithPngjs,
};
