// A classic script in the head: it sets the chosen theme before anything is drawn, so that the page does not flash.
// The choice "auto" leaves the matter to the system.
{
  const THEMES = ["auto", "light", "dark"];
  const KEPT_AS = "courtside-theme";

  const chosen = () => (THEMES.includes(kept()) ? kept() : "auto");

  // A browser that forbids storage throws; the page then simply follows the system.
  function kept() {
    try {
      return localStorage.getItem(KEPT_AS);
    } catch {
      return null;
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem(KEPT_AS, theme);
    } catch {
      // Nothing to do: the choice lasts as long as this page.
    }
  }

  function wear(theme) {
    document.documentElement.dataset.theme = theme;
    document.dispatchEvent(new Event("themechange"));
  }

  function label(button, theme) {
    button.textContent = `Theme: ${theme}`;
    button.onclick = () => {
      const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
      keep(next);
      wear(next);
      label(button, next);
    };
  }

  wear(chosen());
  document.addEventListener("DOMContentLoaded", () => label(document.getElementById("theme"), chosen()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => wear(chosen()));
}
