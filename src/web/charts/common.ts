import { formatNumber, type NumberStyle } from './format.ts';
import { getPalette } from './palette.ts';

export const getTitle = (option: unknown): string | undefined =>
  typeof option === 'string' && option !== '' ? option : undefined;

/** The used part of a tooltip's item. */
type TooltipItem = { dataset: { label?: string }; parsed: { x: number; y: number }; raw: unknown };

/** Makes the options that all charts share. There are no animations. */
export function makeCommonOptions(style: NumberStyle) {
  const { text } = getPalette();
  return {
    animation: false,
    // Paper has more dots than screens.
    ...(document.documentElement.dataset.print !== undefined && { devicePixelRatio: 3 }),
    responsive: true,
    layout: { padding: { right: 8 } },
    maintainAspectRatio: false,
    color: text,
    plugins: {
      tooltip: {
        callbacks: {
          label: ({ dataset, parsed, raw }: TooltipItem) => {
            const value = typeof raw === 'object' && raw !== null ? parsed.y : (raw as number);
            return ` ${dataset.label}: ${formatNumber(value, style)}`;
          },
        },
      },
    },
  } as const;
}

/** Makes the options of an axis, with its numbers in a style if there is one. */
export function makeAxis(title?: string, style?: NumberStyle) {
  const { text, grid } = getPalette();
  return {
    title: { display: title !== undefined, text: title, color: text },
    grid: { color: grid },
    border: { display: false },
    ticks: {
      color: text,
      maxRotation: 30,
      autoSkipPadding: style ? 14 : 6,
      ...(style && { callback: (value: number | string) => formatNumber(Number(value), makeTickStyle(style)) }),
    },
  };
}

/** Makes the number style of tick labels from that of values: no more digits than a tick's value has. */
const makeTickStyle = (style: NumberStyle): NumberStyle =>
  style.format === 'currency' ? { ...style, decimals: style.decimals ?? 0 } : { ...style, decimals: undefined };
