import type { LegendEntry } from './legend.ts';
import { getPalette } from './palette.ts';

const [LINE, MARGIN, MARK] = [20, 12, 8];

/** Draws a PNG of a canvas with its legend below it, on the colour of the card. */
export function takePicture(canvas: HTMLCanvasElement, entries: readonly LegendEntry[]): Promise<Blob> {
  const scale = canvas.width / (canvas.clientWidth || canvas.width);
  const copy = document.createElement('canvas');
  const to = copy.getContext('2d') as CanvasRenderingContext2D;
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const { text, card } = getPalette();
  to.font = font;
  let [x, y] = [MARGIN, 0];
  const placedEntries = entries.map(({ label, value, share, colour }) => {
    const words = [label, value, share].filter(Boolean).join('  ');
    const width = MARK * 2 + to.measureText(words).width;
    if (x > MARGIN && (x + width) * scale > canvas.width) [x, y] = [MARGIN, y + LINE];
    const placedEntry = { words, colour, x, y };
    x += width + MARGIN * 1.5;
    return placedEntry;
  });
  copy.width = canvas.width;
  copy.height = canvas.height + (placedEntries.length > 0 ? (y + LINE + MARGIN) * scale : 0);
  to.fillStyle = card;
  to.fillRect(0, 0, copy.width, copy.height);
  to.drawImage(canvas, 0, 0);
  to.scale(scale, scale);
  to.font = font;
  to.textBaseline = 'middle';
  for (const { words, colour, ...at } of placedEntries) {
    const middleY = canvas.height / scale + at.y + LINE / 2;
    to.fillStyle = colour;
    to.beginPath();
    to.arc(at.x + MARK / 2, middleY, MARK / 2, 0, Math.PI * 2);
    to.fill();
    to.fillStyle = text;
    to.fillText(words, at.x + MARK * 2, middleY);
  }
  return new Promise((resolve, reject) =>
    copy.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the canvas has no picture'))), 'image/png'),
  );
}
