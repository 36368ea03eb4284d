import '../styles/main.css';
import { applyBranding, brandingOfPage, buildLogo } from '../branding/apply.ts';
import { followScheme } from '../theme.ts';

/** The script of pages that the server renders completely: they work without it; it applies the brand. */
const branding = brandingOfPage();
applyBranding(branding);
followScheme(() => {});

const logo = buildLogo(branding);
if (logo) document.querySelector('.card')?.prepend(logo);
