import '../styles/main.css';
import { applyBranding, brandingOfPage, buildLogo } from '../branding/apply.ts';
import { followScheme } from '../theme.ts';

/** A page of text and forms, which the server has written whole: it works without this, which dresses it in the brand. */
const branding = brandingOfPage();
applyBranding(branding);
followScheme(() => {});

const logo = buildLogo(branding);
if (logo) document.querySelector('.card')?.prepend(logo);
