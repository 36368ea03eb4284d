import { mixColours } from '../../kernel/colours.ts';

/** A replacement of Chart.js's colour package, for `#rrggbb` and `#rrggbbaa` only; darkens hovered elements. */
export class Color {
  readonly #hex: string;

  constructor(hex: string) {
    this.#hex = hex;
  }

  get valid(): boolean {
    return /^#([\da-f]{2}){3,4}$/i.test(this.#hex);
  }

  mix(otherColor: Color): Color {
    return otherColor;
  }

  saturate(): Color {
    return this;
  }

  darken(amount: number): Color {
    const [solid, opacity] = [this.#hex.slice(0, 7), this.#hex.slice(7)];
    return this.valid ? new Color(mixColours(solid, '#000000', amount) + opacity) : this;
  }

  hexString(): string {
    return this.#hex;
  }
}
