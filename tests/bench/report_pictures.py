#!/usr/bin/env python3
"""Pictures of reports for docs/images, by headless Chromium, pdftoppm (poppler-utils) and Pillow, which makes them small.

report_pictures.py RUNS OUT
RUNS has the run folders `adult`, `stays`, `tutorial` (out/stays of docs/tutorial/stays.md), `fashion`, `network` (images by a network), `cifar`, `mixture` and `actg175` with their report.html and report-private.html (docs/lab/2026-11-27-reports-read.md and, of the last, docs/how-to/report.md have the commands). A folder that is not there: its pictures stay as they are.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from PIL import Image

TRAINING = "#settings > :not(.grid) {display: none}"
CHARTS = "#columns > :not(.key):not(.grid) {display: none}"
PICTURES = {  # name: report, its section (None: all), styles besides, width and height in the page's pixels, scale, dark
    "report-adult": ("adult/report.html", None, "", 1440, 2250, 0.6, False),
    "report-stays-private": ("stays/report-private.html", None, "", 1440, 2700, 0.6, False),
    "report-tutorial": ("tutorial/report.html", None, "", 1440, 2250, 0.6, False),
    "report-stays-phone": ("stays/report-private.html", None, "", 390, 2250, 0.8, True),
    "report-public": ("actg175/report.html", None, "", 1440, 1900, 0.6, False),
    "report-phone": ("actg175/report-private.html", None, "", 390, 2250, 0.8, True),
    "report-images": ("fashion/report.html", None, "", 1440, 1900, 0.6, True),
    "report-charts": ("stays/report-private.html", "columns", CHARTS, 1440, 1570, 0.7, False),
    "report-pairs": ("stays/report-private.html", "pairs", "", 1440, 1900, 0.6, False),
    "report-scores": ("adult/report-private.html", "scores", "", 1440, 1900, 0.6, True),
    "report-disclosure": ("adult/report-private.html", "disclosure", "", 1440, 1700, 0.6, False),
    "report-cifar": ("cifar/report.html", "images", "", 1440, 1060, 0.6, False),
    "report-training": ("network/report.html", "settings", TRAINING, 1440, 420, 0.6, False),
    "report-nearest": ("network/report-private.html", "images", "", 1440, 2080, 0.6, False),
    "report-mixture": ("mixture/report.html", None, "", 1440, 1700, 0.6, False),
}
OF_COLOURS = ("report-cifar",)
PAGES = {"report-paper": ("stays/report-private.html", 2)}  # name: report, page of its PDF


def chromium(*options):
    subprocess.run(["chromium", "--headless=new", "--no-sandbox", *options], check=True, capture_output=True, timeout=300)


def small(picture):
    """In 256 colours, unless colours are what it shows."""
    with Image.open(picture) as image:
        image = image.convert("RGB")
        if picture.stem not in OF_COLOURS:
            image = image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        image.save(picture, optimize=True)
    print(f"{picture}: {picture.stat().st_size // 1024} kB", flush=True)


def screenshot(report, section, styles, width, height, scale, dark, picture, work):
    html = report.read_text()
    if section:
        html = re.sub(rf'<section id="(?!{section}").*?</section>', "", html, flags=re.S)
    page = work / "page.html"
    page.write_text(html.replace("</head>", f"<style>{styles}</style></head>"))
    chromium("--hide-scrollbars", f"--window-size={width},{height}", f"--force-device-scale-factor={scale}",
             f"--screenshot={picture}", *(["--blink-settings=preferredColorScheme=0"] if dark else []), page.as_uri())


def printed(report, page, picture, work):
    chromium("--no-pdf-header-footer", f"--print-to-pdf={work / 'report.pdf'}", report.as_uri())
    subprocess.run(["pdftoppm", "-png", "-r", "70", "-f", str(page), "-l", str(page), "-singlefile", work / "report.pdf",
                    picture.with_suffix("")], check=True, timeout=300)


def main(runs, out):
    runs, out = pathlib.Path(runs).resolve(), pathlib.Path(out).resolve()
    with tempfile.TemporaryDirectory() as work:
        for name, (report, *how) in (PICTURES | PAGES).items():
            if not (runs / report).exists():
                continue
            picture = out / f"{name}.png"
            (printed if name in PAGES else screenshot)(runs / report, *how, picture, pathlib.Path(work))
            small(picture)


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
