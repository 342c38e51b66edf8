"""Models by name: `openai/<id>` and `anthropic/<id>`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pytest_chalk.models.anthropic_messages import AnthropicMessagesModel
from pytest_chalk.models.openai_chat import OpenAIChatModel
from pytest_chalk.models.price_list import PRICES
from pytest_chalk.models.pricing import FREE, find_list_price
from pytest_chalk.models.provider import VENDORS, is_loopback
from pytest_chalk.models.settings import ModelSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_chalk.models.pricing import Price
    from pytest_chalk.models.provider import Vendor

ProviderModel: TypeAlias = OpenAIChatModel | AnthropicMessagesModel

_KINDS: Mapping[str, type[ProviderModel]] = {
    "openai": OpenAIChatModel,
    "anthropic": AnthropicMessagesModel,
}


def accepted_names() -> tuple[str, ...]:
    """Return the forms of names there are models for, to be shown."""
    return tuple(f"{prefix}/<model id>" for prefix in _KINDS)


def make_model(name: str, settings: ModelSettings | None = None) -> ProviderModel | None:
    """Return the model of that name, or None if the name is not one of `accepted_names`.

    Nothing is sent. `check_access` of the model tells whether its key is there, which a replay from
    a cassette does not need.

    Raises:
        RunOptionError: The base URL or a setting cannot be used for it.
    """
    prefix, _, model_id = name.partition("/")
    kind = _KINDS.get(prefix)
    return kind(model_id, settings) if kind is not None and model_id else None


def is_paid(name: str, settings: ModelSettings | None = None) -> bool:
    """Tell whether asking it costs money: it is a provider's, and not a server on this machine."""
    vendor = _find_vendor(name)
    return vendor is not None and not is_loopback(vendor.base_url(settings or ModelSettings()))


def list_price(name: str, settings: ModelSettings | None = None) -> Price | None:
    """Return what a model costs by its provider's list; None where there is none.

    A server on this machine is free. Any other that is not the provider's own may ask what it
    likes for a model of the same name.
    """
    vendor = _find_vendor(name)
    if vendor is None:
        return None
    base_url = vendor.base_url(settings or ModelSettings())
    if is_loopback(base_url):
        return FREE
    return find_list_price(PRICES, name) if base_url == vendor.default_base_url else None


def _find_vendor(name: str) -> Vendor | None:
    prefix, _, model_id = name.partition("/")
    return next((one for one in VENDORS if model_id and one.prefix == prefix), None)
