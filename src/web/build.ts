import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';
import { marked } from 'marked';
import { LET_IN_TEXTS } from '../texts/let-in/languages.ts';
import { DEFAULT_LOCALE, LOCALES, type Locale } from '../texts/locales.ts';
import { MAIL_LINK_TEXTS } from '../texts/mail-links/languages.ts';
import { PAGE_TEXTS } from '../texts/pages/languages.ts';

const SOURCE = import.meta.dirname;
const PROJECT = join(SOURCE, '..', '..');

/** The folder that wrangler.toml names as the pages' assets. */
const OUTPUT = join(PROJECT, 'dist', 'web');

interface Page {
  titleIn: (locale: Locale) => string;
  /** The chunks that it always needs. */
  preload: string[];
  /** The source of its texts: the folders of `src/texts` that its script loads, or the server for a page that needs none. */
  texts: string[] | 'server' | 'none';
  /** Set for pages of mails' links and their like: before its script runs, such a page says that it is loading. */
  ofMails?: true;
}

/** The pages by name. The description of the API is in English. */
const PAGES = {
  view: { titleIn: (locale) => PAGE_TEXTS[locale].dashboard, preload: ['src/web/charts/draw.ts'], texts: ['pages'] },
  portal: { titleIn: (locale) => PAGE_TEXTS[locale].sharedDashboards, preload: [], texts: ['pages'] },
  'accept-invitation': {
    titleIn: (locale) => MAIL_LINK_TEXTS[locale].invitation.title,
    preload: [],
    texts: ['pages', 'mail-links'],
    ofMails: true,
  },
  'reset-password': {
    titleIn: (locale) => MAIL_LINK_TEXTS[locale].reset.title,
    preload: [],
    texts: ['pages', 'mail-links'],
    ofMails: true,
  },
  'let-in': {
    titleIn: (locale) => LET_IN_TEXTS[locale].title,
    preload: [],
    texts: ['pages', 'mail-links', 'let-in'],
    ofMails: true,
  },
  plain: { titleIn: () => '<!--title-->', preload: [], texts: 'server' },
  docs: { titleIn: () => 'Data Console API', preload: [], texts: 'none' },
} satisfies Record<string, Page>;

type PageName = keyof typeof PAGES;

/** Cached for a day only, since the headers also apply to a 404 while a version with new assets is rolled out. */
const HEADERS = `/assets/*
  Cache-Control: public, max-age=86400
  X-Content-Type-Options: nosniff
`;

/** The part of the template for browsers without scripts. */
const NO_SCRIPT = /<noscript>.*<\/noscript>\n/;

/** The element into which a page's script puts its content. */
const EMPTY = '<div id="page"></div>';

/** The element with the text to show until the script runs. */
const waiting = (loading: string): string =>
  `<div id="page"><main class="message" aria-busy="true"><p class="waiting" role="status">${loading}</p></main></div>`;

/**
 * Builds the pages for the browser into `dist/web`: scripts and styles with content-hashed names under `assets/`, and
 * the pages that refer to them under `pages/`. Builds of the same sources may run at once: new files have names of
 * their own, and old ones are removed only afterwards.
 */
export async function buildPages(): Promise<void> {
  const pages = Object.keys(PAGES) as PageName[];
  const isOfMails = (page: PageName) => (PAGES[page] as Page).ofMails === true;
  // What pages share is a script of its own, and a request: those that nobody opens one after the other share nothing.
  const groups = [pages.filter((page) => !isOfMails(page)), pages.filter(isOfMails)];
  const built = await Promise.all(groups.map(async (group) => ({ group, ...(await bundle(group)) })));
  const component = await componentScript();
  const icon = await readFile(join(SOURCE, 'icon.svg'));
  const iconPath = `assets/icon-${createHash('sha256').update(icon).digest('hex').slice(0, 8)}.svg`;
  const files = new Map<string, Uint8Array | string>([
    ...built.flatMap(({ outputFiles }) =>
      outputFiles.map(({ path, contents }) => [relative(OUTPUT, path), contents] as const),
    ),
    [iconPath, icon],
    [`embed/${component.name}`, component.script],
    ['embed/current', component.name],
    ['_headers', HEADERS],
  ]);
  const template = await readFile(join(SOURCE, 'page.html'), 'utf8');
  for (const [page, metafile] of built.flatMap(({ group, metafile }) =>
    group.map((page) => [page, metafile] as const),
  )) {
    const { titleIn, texts, ofMails }: Page = PAGES[page];
    for (const locale of texts === 'none' ? [DEFAULT_LOCALE] : LOCALES) {
      const html = template
        .replace('lang="en"', `lang="${locale}"`)
        .replace('{{title}}', titleIn(locale))
        .replace(NO_SCRIPT, (whole) =>
          texts === 'server' ? '' : whole.replace('{{noScript}}', PAGE_TEXTS[locale].noScript),
        )
        .replace(EMPTY, (empty) => (ofMails ? waiting(PAGE_TEXTS[locale].loading) : empty))
        .replace('{{icon}}', `/${iconPath}`)
        .replace('{{head}}', buildHead(page, locale, metafile));
      files.set(`pages/${page}.${locale}.html`, html);
    }
  }
  await write(files);
}

/** The scripts and styles of pages, which share common chunks. */
const bundle = (pages: readonly PageName[]) =>
  build({
    absWorkingDir: PROJECT,
    entryPoints: pages.map((page) => `src/web/${page}/main.ts`),
    outdir: 'dist/web/assets',
    entryNames: '[dir]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    metafile: true,
    write: false,
    legalComments: 'none',
    logLevel: 'silent',
    tsconfig: 'src/web/tsconfig.json',
    alias: { '@kurkle/color': './src/web/charts/colour.ts' },
    plugins: [GUIDES, USED_SCALES],
  });

/** Guides become HTML here, so that no page loads a reader of Markdown. */
const GUIDES: Plugin = {
  name: 'guides',
  setup({ onLoad }) {
    onLoad({ filter: /\.md$/ }, async ({ path }) => ({
      contents: linkedWithin(await marked.parse(await readFile(path, 'utf8'))),
      loader: 'text',
    }));
  },
};

/** The scales of Chart.js that no chart has. They read others while they are defined, for which esbuild keeps them in every bundle. */
const UNUSED_SCALES = ['LogarithmicScale', 'RadialLinearScale', 'TimeScale', 'TimeSeriesScale'];

/** Leaves the content of those scales out: a tenth of what a page loads until its first chart. */
const USED_SCALES: Plugin = {
  name: 'used-scales',
  setup({ onLoad }) {
    onLoad({ filter: /\/chart\.js\/dist\/chart\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, 'utf8');
      for (const name of UNUSED_SCALES) {
        const without = contents.replace(new RegExp(`^class ${name} .*?^}`, 'ms'), `class ${name} {}`);
        if (without === contents) throw new Error(`Chart.js has no class ${name}.`);
        contents = without;
      }
      return { contents };
    });
  },
};

/** Turns links to other guides into links on the same page. Other files of the repository are only named. */
const linkedWithin = (html: string): string =>
  html.replaceAll(/<a href="([^"]*)"/g, (_, href: string) => {
    const [, folder, guide] = /(?:([\w-]+)\/)?([\w-]+)\.md$/.exec(href) ?? [];
    return guide ? `<a href="#${guide === 'README' ? folder : guide}"` : '<a';
  });

/** The web component with which other sites embed, bundled into one file, whose name changes with its content. */
async function componentScript(): Promise<{ name: string; script: Uint8Array }> {
  const { outputFiles } = await build({
    absWorkingDir: PROJECT,
    entryPoints: { component: 'embed/index.js' },
    outdir: 'dist/web/embed',
    entryNames: '[name]-[hash]',
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    write: false,
    logLevel: 'silent',
  });
  const [file] = outputFiles;
  if (!file) throw new Error('The component was not built.');
  return { name: basename(file.path), script: file.contents };
}

/** The links to a page's script and styles, and to the chunks that it will request next. */
function buildHead(page: PageName, locale: Locale, { outputs }: Metafile): string {
  const made = (entry: string) => Object.entries(outputs).find(([, output]) => output.entryPoint === entry);
  const [script, output] = made(`src/web/${page}/main.ts`) ?? [];
  if (!script || !output) throw new Error(`The page ${page} was not built.`);
  const { preload, texts }: Page = PAGES[page];
  const ofTexts = Array.isArray(texts) ? texts.map((folder) => `src/texts/${folder}/${locale}.ts`) : [];
  const chunks = [...preload, ...ofTexts];
  const url = (path: string) => `/${relative('dist/web', path)}`;
  const imported = (path: string) =>
    outputs[path]?.imports.flatMap((each) => (each.kind === 'import-statement' ? [each.path] : [])) ?? [];
  const later = chunks.flatMap((entry) => made(entry)?.[0] ?? []);
  const preloaded = new Set([script, ...later].flatMap((path) => [path, ...imported(path)]));
  preloaded.delete(script);
  return [
    ...(output.cssBundle ? [`<link rel="stylesheet" href="${url(output.cssBundle)}">`] : []),
    ...Array.from(preloaded, (path) => `<link rel="modulepreload" href="${url(path)}">`),
    `<script type="module" src="${url(script)}"></script>`,
  ].join('\n');
}

async function write(files: Map<string, Uint8Array | string>): Promise<void> {
  for (const [path, content] of files) {
    const target = join(OUTPUT, path);
    const known = await readFile(target).catch(() => undefined);
    if (known && Buffer.compare(known, Buffer.from(content)) === 0) continue;
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, content);
  }
  for (const entry of await readdir(OUTPUT, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !files.has(relative(OUTPUT, path))) await rm(path, { force: true });
  }
}

if (import.meta.main) await buildPages();
